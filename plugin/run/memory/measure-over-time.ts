/**
 * Measures memory over time: at the peak of each wave and after it, or repeatedly while users connect and disconnect.
 */
import { BoundedSeries } from '../../../protocol/base/bounded-series.ts';
import { addSnapshots } from '../../../protocol/link/add-up.ts';
import { knownValues } from '../../samplers/index.ts';
import type { OverTimeOptions } from '../../script/options/plugin-options.ts';
import type { Checkpoints } from '../checkpoints/checkpoints.ts';
import type { RunContext } from '../context.ts';
import type { EngineSnapshot } from '../link.ts';
import type { MomentReading, OverTimeMeasured, Plateau } from '../measurements/memory-measured.ts';
import type { CheckMoment } from '../measurements/observations.ts';
import { abortablePause } from '../wait.ts';
import { endGeneratorWindow } from '../windows/generator-window.ts';
import { measureMemoryAtRest, measureSettledMemory, withoutFigures } from './at-rest.ts';
import type { MemoryAtRest } from './readings.ts';

/** Maximum number of readings to keep. A run of several days replaces neighbouring readings by their mean. */
const MAX_READINGS = 3600;

export function newOverTime(
  { collect, every }: OverTimeOptions,
  collects: boolean,
  usersLeave = false,
): OverTimeMeasured {
  const kind = every === undefined ? 'waves' : 'churn';
  return {
    collected: collect && collects,
    kind: usersLeave ? 'load' : kind,
    peaks: [],
    readings: new BoundedSeries(MAX_READINGS, meanOf),
  };
}

/**
 * Reads memory at the peak of a wave, waits until the connections of the wave have closed, and reads memory again.
 * @param leaveMs time limit for the connections to close, in milliseconds
 */
export async function measureWave(
  context: RunContext,
  checkpoints: Checkpoints,
  measured: OverTimeMeasured,
  leaveMs: number,
  onGone: () => void,
): Promise<void> {
  const { population, sampler, link, signal } = context;
  const { observations } = context.measurements;
  const wave = measured.peaks.length + 1;
  const peak = await moment(context, await link.snapshots(), () => readOnce(context));
  measured.peaks.push(peak);
  if (peak.connections === 0) observations.note('waveEmpty', { wave });
  await context.noteProcesses?.();
  if (!(await population.gone(leaveMs, signal))) {
    if (signal.aborted) return;
    observations.note('waveStayed', { wave, connections: population.connections() }, wave);
    return;
  }
  onGone();
  const when = { at: 'wave', count: wave } as const;
  await checkpoints.check(when);
  const snapshots = await link.snapshots();
  const left = await moment(context, snapshots, () =>
    measured.collected ? settled(context, when) : readOnce(context),
  );
  const counts = await sampler.counts();
  if (signal.aborted) return;
  if (population.connections() > 0) {
    observations.note('wavesOverlap', { when }, wave);
    return;
  }
  measured.readings.add({ ...left, counts });
}

/**
 * Reads memory repeatedly while virtual users connect and disconnect.
 * @param over ends the readings early when it aborts
 * @param onReading called after each reading
 */
export async function measureChurn(
  context: RunContext,
  checkpoints: Checkpoints,
  measured: OverTimeMeasured,
  { seconds, everySeconds, over }: { seconds: number; everySeconds: number; over?: AbortSignal },
  onReading: () => void,
): Promise<void> {
  const { config, measurements, population } = context;
  const signal = over ? AbortSignal.any([context.signal, over]) : context.signal;
  const beganMs = performance.now();
  let most = Math.max(0, ...measured.readings.rows.map(({ connections }) => connections));
  for (let index = 1; index * everySeconds < seconds && !signal.aborted; index++) {
    await abortablePause(beganMs + index * everySeconds * 1000 - performance.now(), signal);
    if (signal.aborted) return;
    const when = { at: 'reading', count: index * everySeconds } as const;
    await checkpoints.checkDeployment(when);
    // Reading the engines' counts starts a new measurement window of the event loops, so the current window ends here.
    const snapshots = await endGeneratorWindow(context, 'ramp');
    measurements.peakConnections = Math.max(measurements.peakConnections, population.connections());
    const reading = await moment(context, snapshots, () =>
      measured.collected ? measureMemoryAtRest(context, when) : readOnce(context),
    );
    if (signal.aborted) return;
    measured.readings.add(reading);
    if (reading.connections > most) await context.noteProcesses?.();
    // A process keeps memory pages of closed connections, so only readings at a new peak of open connections are used
    // to fit memory per connection.
    if (reading.connections > most && config.usersLeave) measurements.plateaus.push(plateauOf(reading));
    most = Math.max(most, reading.connections);
    onReading();
  }
}

/** Returns the memory reading as a plateau, to fit memory per connection. */
function plateauOf({ connections, layers }: Pick<MomentReading, 'connections' | 'layers'>): Plateau {
  return { connections, layers, readings: [], inService: layers };
}

type Read = Pick<MemoryAtRest, 'layers' | 'last'>;

async function settled(context: RunContext, when: CheckMoment): Promise<Read> {
  const { layers, last, falling } = await measureSettledMemory(context, when);
  return { layers: withoutFigures(layers, falling), last };
}

async function readOnce({ sampler }: RunContext): Promise<Read> {
  const last = await sampler.reading();
  return { layers: knownValues(last), last };
}

async function moment(
  { sampler, population, measurements }: RunContext,
  snapshots: EngineSnapshot[],
  read: () => Promise<Read>,
): Promise<MomentReading> {
  const [t, connections] = [sampler.seconds(), population.connections()];
  const { layers, last } = await read();
  measurements.lastReadings = last;
  const { ended } = addSnapshots(snapshots).accounts;
  return { t, connections, gone: Object.values(ended).reduce((sum, count) => sum + count, 0), layers };
}

function meanOf(older: MomentReading, newer: MomentReading): MomentReading {
  const mean = (a: number, b: number) => (a + b) / 2;
  const layers = Object.entries(older.layers).flatMap(([layer, bytes]) => {
    const later = newer.layers[layer];
    return later === undefined ? [] : [[layer, mean(bytes, later)] as const];
  });
  return {
    t: mean(older.t, newer.t),
    connections: mean(older.connections, newer.connections),
    gone: mean(older.gone, newer.gone),
    layers: Object.fromEntries(layers),
  };
}
