/** The deployment behind the target, running or yet to be started, as far as this machine knows. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isLoopback } from '../../protocol/machine/loopback.ts';
import { type Ping, pingOf, proxyTimeoutSeconds } from '../../server/stack/ping.ts';
import { type Plan, planStack, wholeCores } from '../../server/stack/plan.ts';
import { listens } from '../../server/stack/ports.ts';
import { defaultStateDir, findStack } from '../../server/stack/stack.ts';
import type { Settings } from '../script/settings.ts';
import type { Machine } from './machine.ts';

export interface Deployment {
  /** `planned`: a run would start it. `up`: our own stack is already up. `external`: any other server. */
  kind: 'planned' | 'up' | 'external';
  /** Null for an external server. */
  profile: 'full' | 'embedded' | null;
  /** Socket.IO workers; null if their number depends on the target. */
  workers: number | null;
  /** Connections for which the stack that is up was planned. */
  plannedFor: number | null;
  /** Which of these a run would start. */
  starts: {
    nginx: boolean;
    /** How many processes of it. */
    redis: number;
    pm2: boolean;
  };
  /** nginx's, in seconds. */
  proxyReadTimeoutSeconds: number;
  /** Of the workers. */
  ping: Ping;
  /** PM2's `max_memory_restart`; null when it is not set. */
  workerRestartBytes: number | null;
}

const ROOT = join(import.meta.dirname, '../..');
const UNITS: Record<string, number> = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };

export async function readDeployment(config: Settings): Promise<Deployment> {
  const ping = pingOf(process.env);
  const facts = {
    proxyReadTimeoutSeconds: proxyReadTimeout(readFileSync(join(ROOT, 'nginx/nginx.conf.template'), 'utf8'), ping),
    workerRestartBytes: workerRestart(readFileSync(join(ROOT, 'ecosystem.config.js'), 'utf8')),
    ping,
  };
  const nothing = { starts: { nginx: false, redis: 0, pm2: false }, plannedFor: null };
  const external: Deployment = { ...facts, ...nothing, kind: 'external', profile: null, workers: null };
  const { origin, hostname, port } = new URL(config.target);
  if (config.control || !isLoopback(hostname)) return external;
  const found = await findStack(defaultStateDir());
  if (found.status === 'up' && found.stack.state.target === origin) {
    const { profile, workers, connections } = found.stack.state;
    return { ...facts, ...nothing, kind: 'up', profile, workers: workers.length, plannedFor: connections };
  }
  if (await listens(hostname, Number(port) || 80)) return external;
  const { profile, workers = null, redisUrl, redisNodes = 1 } = config;
  const full = profile === 'full';
  return {
    ...facts,
    kind: 'planned',
    profile,
    workers: full ? workers : 1,
    plannedFor: null,
    starts: { nginx: full, redis: full && redisUrl === undefined ? redisNodes : 0, pm2: true },
  };
}

/** @returns the processes for that many connections, or those of the stack that is up; null for an external server */
export function planFor({ profile, workers, plannedFor }: Deployment, machine: Machine, connections: number) {
  if (profile === null) return null;
  // The embedded profile has a single worker for any number of connections.
  const planned = profile === 'embedded' ? 1 : (plannedFor ?? connections);
  const plan: Plan = planStack(
    { connections: planned, profile, workers: workers ?? undefined },
    {
      cores: wholeCores(machine.cores),
      openFilesMax: Math.min(machine.openFiles.hard, 2 ** 20),
      manyLoopbackAddresses: machine.manyLoopbackAddresses,
    },
  );
  return plan;
}

/** @returns seconds: those of the stack, or of a template that somebody has changed; nginx's default if it does not set it */
export function proxyReadTimeout(template: string, ping: Ping): number {
  if (/^\s*proxy_read_timeout\s+\{\{TIMEOUT_SECONDS\}\}s;/m.test(template)) return proxyTimeoutSeconds(ping);
  const [, amount, unit] = /^\s*proxy_read_timeout\s+(\d+)([smh]?);/m.exec(template) ?? [];
  const seconds = unit === 'h' ? 3600 : unit === 'm' ? 60 : 1;
  return amount === undefined ? 60 : Number(amount) * seconds;
}

/** @returns bytes; null if the ecosystem file does not set `max_memory_restart` */
export function workerRestart(ecosystem: string): number | null {
  const [, amount, unit = ''] = /^\s*max_memory_restart:\s*['"]?(\d+)([KMG]?)/m.exec(ecosystem) ?? [];
  return amount === undefined ? null : Number(amount) * (UNITS[unit] ?? 1);
}
