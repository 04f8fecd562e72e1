/** What stands, or would be started, behind the target, as far as this machine knows. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isLoopback } from '../../protocol/loopback.ts';
import { type Plan, planStack } from '../../server/stack/plan.ts';
import { defaultStateDir, findStack } from '../../server/stack/stack.ts';
import type { Settings } from '../script/settings.ts';
import type { Machine } from './machine.ts';

export interface Deployment {
  /** `planned`: a run would start it. `up`: a stack of ours that stands. `foreign`: somebody else's server. */
  kind: 'planned' | 'up' | 'foreign';
  /** Null where it is foreign. */
  profile: 'full' | 'embedded' | null;
  /** Socket.IO workers, where their number does not follow the target. */
  workers: number | null;
  /** Connections that a stack was planned for that is up. */
  plannedFor: number | null;
  /** Whether a run would start nginx, and Redis. */
  starts: { nginx: boolean; redis: boolean };
  /** nginx's, in seconds. */
  proxyReadTimeoutSeconds: number;
  /** Of the workers: a ping every interval, and how long they wait for its answer. */
  ping: { intervalMs: number; timeoutMs: number };
  /** PM2's `max_memory_restart`; null when it is not set. */
  workerRestartBytes: number | null;
}

const ROOT = join(import.meta.dirname, '../..');
const UNITS: Record<string, number> = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };

export async function readDeployment(config: Settings): Promise<Deployment> {
  const facts = {
    proxyReadTimeoutSeconds: proxyReadTimeout(readFileSync(join(ROOT, 'nginx/nginx.conf.template'), 'utf8')),
    workerRestartBytes: workerRestart(readFileSync(join(ROOT, 'ecosystem.config.js'), 'utf8')),
    // As the workers read them; they inherit the environment.
    ping: {
      intervalMs: Number(process.env.CAPACITY_PING_INTERVAL_MS || 25_000),
      timeoutMs: Number(process.env.CAPACITY_PING_TIMEOUT_MS || 20_000),
    },
  };
  const nothing = { starts: { nginx: false, redis: false }, plannedFor: null };
  const { origin, hostname } = new URL(config.target);
  if (config.control || !isLoopback(hostname)) {
    return { ...facts, ...nothing, kind: 'foreign', profile: null, workers: null };
  }
  const found = await findStack(defaultStateDir());
  if (found.status === 'up' && found.stack.state.target === origin) {
    const { profile, workers, connections } = found.stack.state;
    return { ...facts, ...nothing, kind: 'up', profile, workers: workers.length, plannedFor: connections };
  }
  const { profile, workers = null, redisUrl } = config;
  const full = profile === 'full';
  return {
    ...facts,
    kind: 'planned',
    profile,
    workers: full ? workers : 1,
    plannedFor: null,
    starts: { nginx: full, redis: full && redisUrl === undefined },
  };
}

/** @returns the processes that hold that many connections, or that were started for another number; null if foreign */
export function planFor({ profile, workers, plannedFor }: Deployment, machine: Machine, connections: number) {
  if (profile === null) return null;
  // One embedded worker is one, whatever is asked of it.
  const planned = profile === 'embedded' ? 1 : (plannedFor ?? connections);
  const plan: Plan = planStack(
    { connections: planned, profile, workers: workers ?? undefined },
    {
      cores: machine.cores,
      openFilesMax: Math.min(machine.openFiles.hard, 2 ** 20),
      manyLoopbackAddresses: machine.manyLoopbackAddresses,
    },
  );
  return plan;
}

/** @returns seconds; nginx's default where the template says nothing */
export function proxyReadTimeout(template: string): number {
  const [, amount, unit] = /^\s*proxy_read_timeout\s+(\d+)([smh]?);/m.exec(template) ?? [];
  const seconds = unit === 'h' ? 3600 : unit === 'm' ? 60 : 1;
  return amount === undefined ? 60 : Number(amount) * seconds;
}

/** @returns bytes; null where the ecosystem file does not set `max_memory_restart` */
export function workerRestart(ecosystem: string): number | null {
  const [, amount, unit = ''] = /^\s*max_memory_restart:\s*['"]?(\d+)([KMG]?)/m.exec(ecosystem) ?? [];
  return amount === undefined ? null : Number(amount) * (UNITS[unit] ?? 1);
}
