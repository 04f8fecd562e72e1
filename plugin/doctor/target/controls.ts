/** The control port of each worker: reachable, with this token, of this version; the workers all, and each once; their clocks. */
import type { ClockReading } from '../../../protocol/clock/clock-reading.ts';
import type { CapacityError } from '../../../protocol/errors.ts';
import type { WorkerStats } from '../../../protocol/events.ts';
import { VERSION } from '../../../protocol/version.ts';
import { requireAllWorkers } from '../../run/target/all-workers.ts';
import { ControlClients } from '../../samplers/index.ts';
import type { ControlSettings } from '../../script/settings.ts';
import type { TargetCheck } from './target-check.ts';

/** As the verdict has it, for short latencies. */
const MAX_CLOCK_ERROR_US = 1000;

export async function checkControls(
  settings: ControlSettings | undefined,
  signal: AbortSignal,
): Promise<TargetCheck[]> {
  if (!settings) {
    const found = 'none is named: a run measures from outside';
    return [{ name: 'control', status: 'skipped', tried: 'the control ports of the workers', found }];
  }
  const { urls, token, tls } = settings;
  const tried = await ControlClients.connectEach(urls, token, { tls });
  const checks: TargetCheck[] = [];
  const known: { control: ControlClients; stats: WorkerStats }[] = [];
  try {
    for (const one of tried) {
      const check = { name: 'control' as const, tried: `the control port at ${one.url}` };
      try {
        if ('error' in one) throw one.error;
        const [stats] = await one.control.stats();
        const [clock] = await one.control.time();
        if (!stats || !clock) throw new Error('no answer');
        checks.push({ ...check, ...judge(stats) }, checkClock(stats, clock));
        known.push({ control: one.control, stats });
      } catch (error) {
        const { message, fix } = error as CapacityError;
        checks.push({ ...check, status: 'failed', found: message, fix });
      }
    }
    return [...checks, ...(await checkAll(known, signal))];
  } finally {
    for (const one of tried) if ('control' in one) one.control.close();
  }
}

function judge({
  worker,
  instance,
  version,
  versions,
  connections,
}: WorkerStats): Pick<TargetCheck, 'status' | 'found' | 'fix'> {
  const { node, socketIo, adapter } = versions;
  const found = `worker ${worker}${instance ? `, instance ${instance.slice(0, 8)}` : ''}, with ${connections} connections: Node ${node}, Socket.IO ${socketIo}, adapter ${adapter}`;
  if (version === VERSION) return { status: 'ok', found: `${found}, version ${version}` };
  return {
    status: 'failed',
    found: `${found}; its version is ${version ?? 'older'}, ours ${VERSION}`,
    fix: `install version ${VERSION} of socketio-capacity-instrument in the server, or that of the server here`,
  };
}

/** @returns how precisely latencies from it can be known */
export function checkClock(
  { worker }: Pick<WorkerStats, 'worker'>,
  { offsetUs, uncertaintyUs }: Pick<ClockReading, 'offsetUs' | 'uncertaintyUs'>,
): TargetCheck {
  const ms = (us: number) => (us / 1000).toFixed(2);
  const check = {
    name: 'clock' as const,
    tried: `the clock of ${worker}`,
    found: `${ms(Math.abs(offsetUs))} ms ${offsetUs < 0 ? 'behind' : 'ahead of'} ours, known to ± ${ms(uncertaintyUs)} ms`,
  };
  if (uncertaintyUs <= MAX_CLOCK_ERROR_US) return { ...check, status: 'ok' };
  const fix = 'move the generator nearer to the workers; latencies of less than ten times that make a run SUSPECT';
  return { ...check, status: 'warning', fix };
}

async function checkAll(
  known: { control: ControlClients; stats: WorkerStats }[],
  signal: AbortSignal,
): Promise<TargetCheck[]> {
  const [first] = known;
  if (!first) return [];
  const check = { name: 'workers' as const, tried: 'whether these are all workers, and each once' };
  const control = {
    size: known.length,
    stats: async () => known.map(({ stats }) => stats),
    servers: () => first.control.servers(),
  };
  try {
    await requireAllWorkers(control, () => {}, signal);
    return [{ ...check, status: 'ok', found: known.map(({ stats }) => stats.worker).join(', ') }];
  } catch (error) {
    const { message, fix } = error as CapacityError;
    return [{ ...check, status: 'failed', found: message, fix }];
  }
}
