/**
 * Checks the control ports: whether each worker accepts the run, its version and its clock, and that the URLs lead to
 * every worker exactly once.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ClockReading } from '../../../protocol/base/clock/clock.ts';
import { VERSION } from '../../../protocol/base/version.ts';
import type { WorkerStats } from '../../../protocol/wire/events.ts';
import { countText } from '../../../report/text/format.ts';
import { requireWorkers } from '../../run/target/require-workers.ts';
import { ControlClients } from '../../samplers/index.ts';
import type { Settings } from '../../script/settings.ts';
import { runTargetCheck, type TargetCheck, type TargetFinding } from './target-check.ts';

/** Names of adapters that do not connect servers. */
const LOCAL_ADAPTERS = ['in-memory', 'none'];
const CLUSTER_TIMEOUT_MS = 12_000;
const POLL_MS = 500;
/**
 * Maximum error of the workers' clocks, in microseconds, with which short latencies are meaningful. The verdict of a
 * run uses the same limit.
 */
const MAX_CLOCK_ERROR_US = 1000;

interface ReachedWorker {
  control: ControlClients;
  stats: WorkerStats;
  clock: ClockReading;
}

export async function checkControlPorts(settings: Settings, signal: AbortSignal): Promise<TargetCheck[]> {
  if (!settings.control) {
    const found = 'none is set: a run measures from outside';
    return [{ name: 'control', status: 'skipped', tried: 'the control ports of the workers', found }];
  }
  const { urls, token, tls } = settings.control;
  const opened = await ControlClients.connectEach(urls, token, { tls });
  const checks: TargetCheck[] = [];
  const reached: ReachedWorker[] = [];
  try {
    for (const port of opened) {
      const examine = async () => {
        if ('error' in port) throw port.error;
        const [stats] = await port.control.stats();
        const [clock] = await port.control.time();
        if (!stats || !clock) throw new Error('no answer');
        reached.push({ control: port.control, stats, clock });
        return versionOf(stats);
      };
      checks.push(await runTargetCheck('control', `the control port at ${port.url}`, examine));
    }
    for (const { stats, clock } of reached) {
      checks.push(await runTargetCheck('clock', `the clock of ${stats.worker}`, async () => clockFinding(clock)));
    }
    if (reached.length > 0) checks.push(await checkAll(reached, settings, signal));
    return checks;
  } finally {
    for (const port of opened) if ('control' in port) port.control.close();
  }
}

function versionOf({ worker, instance, version, versions, connections }: WorkerStats): TargetFinding {
  const { node, socketIo, adapter } = versions;
  const found = `worker ${worker}, instance ${instance.slice(0, 8)}, with ${countText(connections, 'connection')}: Node ${node}, Socket.IO ${socketIo}, adapter ${adapter}`;
  if (version === VERSION) return { status: 'ok', found: `${found}, version ${version}` };
  return {
    status: 'failed',
    found: `${found}; its version is ${version}, this generator’s is ${VERSION}`,
    fix: `install version ${VERSION} of socketio-capacity-instrument in the server, or version ${version} here`,
  };
}

/** Returns the offset of a worker's clock. Also returns a warning if its error is too large for short latencies. */
export function clockFinding({
  offsetUs,
  uncertaintyUs,
}: Pick<ClockReading, 'offsetUs' | 'uncertaintyUs'>): TargetFinding {
  const ms = (us: number) => (us / 1000).toFixed(2);
  const found = `${ms(Math.abs(offsetUs))} ms ${offsetUs < 0 ? 'behind' : 'ahead of'} the generator’s clock, known to ± ${ms(uncertaintyUs)} ms`;
  if (uncertaintyUs <= MAX_CLOCK_ERROR_US) return { status: 'ok', found };
  const fix = 'move the generator nearer to the workers; latencies below ten times this uncertainty make a run SUSPECT';
  return { status: 'warning', found, fix };
}

function checkAll(reached: ReachedWorker[], { broadcasts }: Settings, signal: AbortSignal): Promise<TargetCheck> {
  return runTargetCheck(
    'workers',
    'whether these are all workers of one cluster, each once, and accept the size of the broadcasts',
    async () => {
      const control = {
        size: reached.length,
        stats: async () => reached.map(({ stats }) => stats),
        servers: async () => reached[0]?.control.servers(),
      };
      await requireWorkers(control, broadcasts, () => {}, signal);
      const names = reached.map(({ stats }) => stats.worker).join(', ');
      const isolated = await isolatedWorkers(reached, signal);
      if (isolated.length === 0) return { status: 'ok', found: names };
      return {
        status: 'warning',
        found: `${names}; no adapter connects ${isolated.join(', ')} with the others, so a broadcast reaches only the connections of its own worker`,
        fix: 'give all workers one adapter, such as Redis; if they are meant to be separate, let each connection join rooms of its worker only',
      };
    },
  );
}

/**
 * Returns the workers whose adapter counts fewer servers than there are. Waits for the adapters, because a new cluster
 * needs a moment to connect.
 */
async function isolatedWorkers(reached: ReachedWorker[], signal: AbortSignal): Promise<string[]> {
  const deadlineMs = performance.now() + CLUSTER_TIMEOUT_MS;
  for (;;) {
    const counts = await Promise.all(reached.map(({ control }) => control.servers()));
    const isolated = reached
      .filter((_, index) => (counts[index] ?? reached.length) < reached.length)
      .map(({ stats }) => stats);
    const isFinal =
      isolated.some(({ versions }) => LOCAL_ADAPTERS.includes(versions.adapter)) || performance.now() > deadlineMs;
    if (isolated.length === 0 || isFinal) return isolated.map(({ worker }) => worker);
    await delay(POLL_MS, undefined, { signal });
  }
}
