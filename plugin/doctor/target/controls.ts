/** The control port of each worker: reachable, with this token, of this version; the workers all, and each once; their clocks. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ClockReading } from '../../../protocol/base/clock/clock-reading.ts';
import { VERSION } from '../../../protocol/base/version.ts';
import type { WorkerStats } from '../../../protocol/wire/events.ts';
import { counted } from '../../../report/text/format.ts';
import { requireWorkers } from '../../run/target/require-workers.ts';
import { ControlClients } from '../../samplers/index.ts';
import type { Settings } from '../../script/settings.ts';
import { check, type Finding, type TargetCheck } from './target-check.ts';

/** Adapters that know no other server. */
const ALONE = ['in-memory', 'none'];
const CLUSTER_TIMEOUT_MS = 12_000;
const POLL_MS = 500;
/** As the verdict has it, for short latencies. */
const MAX_CLOCK_ERROR_US = 1000;

interface Known {
  control: ControlClients;
  stats: WorkerStats;
  clock: ClockReading;
}

export async function checkControls(settings: Settings, signal: AbortSignal): Promise<TargetCheck[]> {
  if (!settings.control) {
    const found = 'none is named: a run measures from outside';
    return [{ name: 'control', status: 'skipped', tried: 'the control ports of the workers', found }];
  }
  const { urls, token, tls } = settings.control;
  const opened = await ControlClients.connectEach(urls, token, { tls });
  const checks: TargetCheck[] = [];
  const known: Known[] = [];
  try {
    for (const one of opened) {
      const examine = async () => {
        if ('error' in one) throw one.error;
        const [stats] = await one.control.stats();
        const [clock] = await one.control.time();
        if (!stats || !clock) throw new Error('no answer');
        known.push({ control: one.control, stats, clock });
        return versionOf(stats);
      };
      checks.push(await check('control', `the control port at ${one.url}`, examine));
    }
    for (const { stats, clock } of known) {
      checks.push(await check('clock', `the clock of ${stats.worker}`, async () => clockOf(clock)));
    }
    if (known.length > 0) checks.push(await checkAll(known, settings, signal));
    return checks;
  } finally {
    for (const one of opened) if ('control' in one) one.control.close();
  }
}

function versionOf({ worker, instance, version, versions, connections }: WorkerStats): Finding {
  const { node, socketIo, adapter } = versions;
  const found = `worker ${worker}, instance ${instance.slice(0, 8)}, with ${counted(connections, 'connection')}: Node ${node}, Socket.IO ${socketIo}, adapter ${adapter}`;
  if (version === VERSION) return { status: 'ok', found: `${found}, version ${version}` };
  return {
    status: 'failed',
    found: `${found}; its version is ${version}, ours ${VERSION}`,
    fix: `install version ${VERSION} of socketio-capacity-instrument in the server, or that of the server here`,
  };
}

/** @returns how precisely latencies from that worker can be known */
export function clockOf({ offsetUs, uncertaintyUs }: Pick<ClockReading, 'offsetUs' | 'uncertaintyUs'>): Finding {
  const ms = (us: number) => (us / 1000).toFixed(2);
  const found = `${ms(Math.abs(offsetUs))} ms ${offsetUs < 0 ? 'behind' : 'ahead of'} ours, known to ± ${ms(uncertaintyUs)} ms`;
  if (uncertaintyUs <= MAX_CLOCK_ERROR_US) return { status: 'ok', found };
  const fix = 'move the generator nearer to the workers; latencies of less than ten times that make a run SUSPECT';
  return { status: 'warning', found, fix };
}

function checkAll(known: Known[], { broadcasts }: Settings, signal: AbortSignal): Promise<TargetCheck> {
  return check(
    'workers',
    'whether these are all workers, each once, of one cluster, and take the broadcasts',
    async () => {
      const control = {
        size: known.length,
        stats: async () => known.map(({ stats }) => stats),
        servers: async () => known[0]?.control.servers(),
      };
      await requireWorkers(control, broadcasts, () => {}, signal);
      const names = known.map(({ stats }) => stats.worker).join(', ');
      const alone = await withoutOthers(known, signal);
      if (alone.length === 0) return { status: 'ok', found: names };
      return {
        status: 'warning',
        found: `${names}; no adapter connects ${alone.join(', ')} with the others, so a broadcast reaches only the connections of its own worker`,
        fix: 'give all workers one adapter, such as Redis; if that is how they are used, let each connection join rooms of its worker only',
      };
    },
  );
}

/** @returns the workers whose adapter counts fewer servers than there are; a cluster can need a moment to know all of its own */
async function withoutOthers(known: Known[], signal: AbortSignal): Promise<string[]> {
  const deadlineMs = performance.now() + CLUSTER_TIMEOUT_MS;
  for (;;) {
    const counts = await Promise.all(known.map(({ control }) => control.servers()));
    const alone = known.filter((_, index) => (counts[index] ?? known.length) < known.length).map(({ stats }) => stats);
    const isFinal = alone.some(({ versions }) => ALONE.includes(versions.adapter)) || performance.now() > deadlineMs;
    if (alone.length === 0 || isFinal) return alone.map(({ worker }) => worker);
    await delay(POLL_MS, undefined, { signal });
  }
}
