/** The deployment behind the target, running or yet to be started, as far as it is known on this machine. */
import { type Ping, pingOf } from '../../server/stack/nginx.ts';
import { type Plan, planningMachine, planStack } from '../../server/stack/plan.ts';
import { defaultStateDir, findStack } from '../../server/stack/stack.ts';
import { whichDeployment } from '../run/target/which-deployment.ts';
import type { Settings } from '../script/settings.ts';
import type { Machine } from './check-machine.ts';

export interface Deployment {
  /** `planned`: the run would start the bundled stack. `up`: the bundled stack is running. `external`: any other server. */
  kind: 'planned' | 'up' | 'external';
  /** Profile of the bundled stack; null for an external server. */
  profile: 'full' | 'embedded' | null;
  /** Number of Socket.IO workers; null if the number of connections decides it. */
  workers: number | null;
  /** Missing programs, which make the profile `embedded`. */
  missing: readonly string[];
  /** Connections for which the running stack was planned; null for other deployments. */
  plannedFor: number | null;
  /** Programs that a run would start. */
  starts: {
    nginx: boolean;
    /** Number of processes. */
    redis: number;
    pm2: boolean;
  };
  ping: Ping;
}

/** @throws CapacityError as `whichDeployment` */
export async function readDeployment(config: Settings): Promise<Deployment> {
  const nothing = {
    ...{ ping: pingOf(process.env), starts: { nginx: false, redis: 0, pm2: false } },
    ...{ plannedFor: null, missing: [] },
  };
  const which = await whichDeployment(config, await findStack(defaultStateDir()));
  if (which.kind === 'own') return { ...nothing, kind: 'external', profile: null, workers: null };
  if (which.kind === 'up') {
    const { profile, workers, connections } = which.stack.state;
    return { ...nothing, kind: 'up', profile, workers: workers.length, plannedFor: connections };
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

/** Returns the stack's processes for a number of connections, or the processes of the running stack; null for an external server. */
export function planFor(
  { profile, workers, plannedFor }: Deployment,
  machine: Machine,
  connections: number,
): Plan | null {
  if (profile === null) return null;
  // The embedded profile has a single worker for any number of connections.
  const planned = profile === 'embedded' ? 1 : (plannedFor ?? connections);
  const { cores, openFiles, manyLoopbackAddresses } = machine;
  const request = { connections: planned, profile, workers: workers ?? undefined };
  return planStack(request, planningMachine(cores, openFiles.hard, manyLoopbackAddresses));
}
