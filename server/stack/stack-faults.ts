/** Planned faults of a stack: a deployment of a new version, a crash, or a restart by an administrator. */
import { CapacityError } from '../../protocol/codes/errors.ts';
import type { StackFault } from '../../protocol/wire/fault-kinds.ts';
import { isRetiringNginxWorker } from './nginx.ts';
import { recordPm2Apps, reloadWorkers, restartRedisApps } from './pm2.ts';
import { redisAnswers, redisPartNames, waitForRedisCluster } from './redis.ts';
import { childrenOf, isRefAlive, type ProcessRef } from './state/stack-processes.ts';
import { processRefOf, recordNginxWorkers, type StackState } from './state/state.ts';
import { waitUntilTrue } from './wait-for.ts';

const RELOAD_TIMEOUT_MS = 10_000;
const RESTART_TIMEOUT_MS = 10_000;
const SEE_LOG = 'see its log: npx socketio-capacity stack status prints the folder';

/** Returns why the fault is impossible in this stack; undefined if it is possible. */
export function whyFaultUnsupported(fault: StackFault, { nginxPid, redisNodes }: StackState): string | undefined {
  if (fault === 'reload-nginx' && nginxPid === undefined) return 'it has no nginx (profile: embedded)';
  if (fault === 'restart-redis' && redisNodes.length === 0) return 'it has no Redis of its own';
  return undefined;
}

/** Returns the parts of the deployment that the fault replaces: workers, `nginx`, `Redis` or its cluster nodes. */
export function partsReplacedBy(fault: StackFault, state: StackState): string[] {
  const names = state.workers.map(({ id }) => id);
  const parts = { 'kill-worker': names.slice(0, 1), 'reload-workers': names };
  if (fault === 'reload-nginx') return ['nginx'];
  return fault === 'restart-redis' ? redisPartNames(state) : parts[fault];
}

/**
 * Causes the fault. Resolves when the fault is complete, except that it does not wait for a killed worker to restart.
 * @param save writes the state, which is needed for a later takedown
 * @throws CapacityError `START_FAILED`
 */
export async function causeStackFault(fault: StackFault, state: StackState, save: () => void): Promise<void> {
  if (fault === 'reload-workers') await reloadWorkers(state.pm2Home);
  else if (fault === 'kill-worker') killWorker(state);
  else if (fault === 'reload-nginx') await reloadNginx(state, save);
  else await restartRedis(state, save);
}

/** Kills the first worker. PM2 restarts the worker. */
function killWorker(state: StackState): void {
  const [worker] = state.workers;
  const ref = processRefOf(state, worker?.pid);
  if (!ref || !isRefAlive(ref)) {
    throw new CapacityError('START_FAILED', `Worker ${worker?.id} is not running, so it cannot be killed.`, SEE_LOG);
  }
  process.kill(ref.pid, 'SIGKILL');
}

/** Reloads nginx. The old workers run until their last connection closes. */
async function reloadNginx(state: StackState, save: () => void): Promise<void> {
  const master = processRefOf(state, state.nginxPid) as ProcessRef;
  const before = new Set(childrenOf(master.pid));
  if (isRefAlive(master)) process.kill(master.pid, 'SIGHUP');
  const isDone = () => {
    const now = childrenOf(master.pid);
    return now.some((pid) => !before.has(pid)) && now.every((pid) => !before.has(pid) || isRetiringNginxWorker(pid));
  };
  if (!(await waitUntilTrue(isDone, RELOAD_TIMEOUT_MS))) {
    const message = `nginx did not replace its worker processes within ${RELOAD_TIMEOUT_MS / 1000} s of a reload.`;
    throw new CapacityError('START_FAILED', message, SEE_LOG);
  }
  recordNginxWorkers(state);
  save();
}

/** Restarts all Redis nodes. They start empty, with the same ports and password. */
async function restartRedis(state: StackState, save: () => void): Promise<void> {
  await restartRedisApps(state.pm2Home);
  await recordPm2Apps(state);
  save();
  const answers = state.redisNodes.map((node) => waitUntilTrue(() => redisAnswers(state, node), RESTART_TIMEOUT_MS));
  if ((await Promise.all(answers)).includes(false)) {
    throw new CapacityError(
      'START_FAILED',
      `Redis does not answer ${RESTART_TIMEOUT_MS / 1000} s after its restart.`,
      SEE_LOG,
    );
  }
  if (state.redisNodes.length > 1) await waitForRedisCluster(state);
}
