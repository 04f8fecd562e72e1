/** Describes the deployment behind the target, whether it is running or not, as far as this machine can see it. */
import { getPriority } from 'node:os';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';
import { type PingSettings, readPingSettings } from '../../server/stack/nginx.ts';
import { machineForPlan, planStack, type StackPlan } from '../../server/stack/plan.ts';
import { defaultStateDir, findStack } from '../../server/stack/stack.ts';
import { whichDeployment } from '../run/target/which-deployment.ts';
import type { Settings } from '../script/settings.ts';
import { type DoctorMachine, sysctl } from './check-machine.ts';

export interface DoctorDeployment {
  /**
   * `planned`: the run would start the included stack. `up`: the included stack is running. `external`: any other
   * server.
   */
  kind: 'planned' | 'up' | 'external';
  /** Profile of the included stack; null for an external server. */
  profile: 'full' | 'embedded' | null;
  /** Number of Socket.IO workers; null if it depends on the number of connections. */
  workers: number | null;
  /** Programs that are not installed, so that the profile is `embedded`. */
  missing: readonly string[];
  /** Number of connections for which the running stack was planned; null for other deployments. */
  plannedFor: number | null;
  /** Programs that a run would start. */
  starts: {
    nginx: boolean;
    redis: number;
    pm2: boolean;
  };
  ping: PingSettings;
  /** Whether the kernel prefers the generator to the workers of the running stack, because of their priorities. */
  yieldsCpu: boolean;
}

/** Minimum difference of priorities (`nice`). The kernel then gives a thread 28 times the CPU of another. */
const MIN_NICE_DIFFERENCE = 15;

/**
 * Finds the deployment.
 * @throws CapacityError like `whichDeployment`
 */
export async function readDeployment(config: Settings): Promise<DoctorDeployment> {
  const nothing = {
    ...{ ping: readPingSettings(process.env), starts: { nginx: false, redis: 0, pm2: false } },
    ...{ plannedFor: null, missing: [], yieldsCpu: false },
  };
  const which = await whichDeployment(config, await findStack(defaultStateDir()));
  if (which.kind === 'own') return { ...nothing, kind: 'external', profile: null, workers: null };
  if (which.kind === 'up') {
    const { profile, workers, connections } = which.stack.state;
    const yieldsCpu = haveLowPriority(workers.map(({ pid }) => pid));
    return { ...nothing, kind: 'up', profile, workers: workers.length, plannedFor: connections, yieldsCpu };
  }
  const { profile, missing } = which;
  const { workers = null, redisUrl, redisNodes = 1 } = config;
  const full = profile === 'full';
  return {
    ...nothing,
    kind: 'planned',
    profile,
    missing,
    workers: full ? workers : 1,
    starts: { nginx: full, redis: full && redisUrl === undefined ? redisNodes : 0, pm2: true },
  };
}

/**
 * Returns whether all processes have a much lower priority than this process. With automatic groups of the scheduler,
 * priorities have no effect between sessions.
 */
function haveLowPriority(pids: number[]): boolean {
  const [groups] = sysctl('kernel/sched_autogroup_enabled');
  if (groups === 1) return false;
  const lowest = getPriority() + MIN_NICE_DIFFERENCE;
  return pids.every((pid) => (tryOrUndefined(() => getPriority(pid)) ?? lowest - 1) >= lowest);
}

/**
 * Returns the numbers of processes that the stack has for a number of connections. If the stack is running, returns its
 * actual numbers. Null for an external server.
 */
export function deploymentPlan(
  { profile, workers, plannedFor }: DoctorDeployment,
  machine: DoctorMachine,
  connections: number,
): StackPlan | null {
  if (profile === null) return null;
  // The embedded profile has one worker, whatever the number of connections.
  const planned = profile === 'embedded' ? 1 : (plannedFor ?? connections);
  const { cores, openFiles, manyLoopbackAddresses } = machine;
  const request = { connections: planned, profile, workers: workers ?? undefined };
  return planStack(request, machineForPlan(cores, openFiles.hard, manyLoopbackAddresses));
}
