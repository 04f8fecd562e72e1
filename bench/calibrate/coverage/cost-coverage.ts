/**
 * Coverage of the intervals of memory and CPU costs: how often they contain the true value. Measured with many short
 * runs, each on a new server.
 */
import { cpuFigures } from '../../../plugin/result/cpu/assemble-cpu.ts';
import { memoryFigures } from '../../../plugin/result/memory/assemble-memory.ts';
import { LAYERS } from '../../../plugin/samplers/layers/index.ts';
import { mapLimit } from '../../../protocol/base/map-limit.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { type CalibrationSetup, type ServerPlan, withCalibrationSetup } from '../calibration-setup.ts';
import {
  type CalibrationSection,
  type ComparisonUnit,
  compareWithin,
  type TruthComparison,
  valueOrInfinity,
} from '../comparison.ts';
import { shortRun } from '../short-run.ts';
import { compareCoverage, intervalFrom } from './coverage.ts';

const REPEATS = 60;
/** Number of concurrent runs. The runs mostly wait, so they do not disturb each other. */
const TOGETHER = 2;
/** Number of repeats with a server that uses no additional CPU time. */
const TWINS = 12;

type Cost = Exclude<keyof Result['cpu'][string], 'intervals' | 'isAtLeast'>;

interface Costs {
  memory: Result['memory'];
  cpu: Result['cpu'][string];
}

const CONNECT_CPU_US = 2000;
const IDLE_CPU_US_PER_SEC = 250;
const COPY_CPU_US = 50;
const TWIN: ServerPlan = { keep: { kind: 'heap', bytes: 16 * 1024 } };
const SERVER: ServerPlan = {
  ...TWIN,
  connectCpuUs: CONNECT_CPU_US,
  idleCpuUsPerSec: IDLE_CPU_US_PER_SEC,
  copyCpuUs: COPY_CPU_US,
};
/** Allowed error. It is large, because other load on the machine increases the CPU time of the same work. */
const CPU_BOUND = { share: 0.1 };
const RUN = {
  connections: 400,
  plateaus: 5,
  warmUps: 2,
  holdSeconds: 3,
  broadcasts: { count: 20, intervalMs: 200 },
  drainMs: 0,
};

/**
 * Options of Node that fix the size of V8's young generation. Otherwise, it grows once by some megabytes. A short run
 * may or may not reach the number of connections at which this happens, so the interval of a single run cannot include
 * it.
 */
const FIXED_YOUNG_GENERATION = ['--min-semi-space-size=2', '--max-semi-space-size=2'];

const REST_LAYERS = ['workerHeapUsed', 'workerRss'];

export async function costIntervalCoverage(): Promise<CalibrationSection> {
  return {
    title: 'Intervals of costs',
    text: 'How often a 95 % interval contains the mean of all repeats: short runs, each with a new server.',
    rows: await costRows(),
  };
}

async function costRows(): Promise<TruthComparison[]> {
  const runs = await manyRuns(REPEATS, SERVER);
  const twinRuns = await manyRuns(TWINS, TWIN);
  const idlePercent = (IDLE_CPU_US_PER_SEC * RUN.connections) / 10_000;
  const cpu: [what: string, key: Cost, unit: ComparisonUnit, more: number][] = [
    ['CPU per 1,000 connects', 'rampSecondsPerThousandConnects', 's', CONNECT_CPU_US / 1000],
    ['CPU while idle', 'idlePercent', '%', idlePercent],
    ['CPU per message', 'broadcastMicrosecondsPerMessage', 'µs', COPY_CPU_US],
  ];
  return [
    ...REST_LAYERS.map((layer) => {
      const slopes = runs.map(({ memory }) => memory.perConnectionBytes[layer]);
      return compareCoverage(
        `memory at rest: ${layer}`,
        mean(slopes.map((slope) => slope?.slope)),
        slopes.map(intervalFrom),
      );
    }),
    ...cpu.flatMap(([what, key, unit, more]) => {
      const truth = mean(runs.map(({ cpu }) => cpu[key]));
      const twin = twinRuns.map(({ cpu }) => cpu[key] ?? 0);
      const intervals = runs.map(({ cpu }) => intervalFrom(cpu.intervals?.[key]));
      return [
        compareCoverage(what, truth, intervals),
        compareWithin(`${what}, more than a twin`, unit, more, truth - mean(twin), CPU_BOUND),
      ];
    }),
  ];
}

async function manyRuns(count: number, server: ServerPlan): Promise<Costs[]> {
  const runs: Costs[] = [];
  await mapLimit(count, TOGETHER, async () => void runs.push(await oneRun(server)));
  return runs;
}

async function oneRun(server: ServerPlan): Promise<Costs> {
  const work = async (setup: CalibrationSetup): Promise<Costs> => {
    const { measurements, sampled } = await shortRun(setup, RUN);
    const { worker } = cpuFigures(measurements, LAYERS);
    if (!worker) throw new Error('no CPU time of the server');
    return { memory: memoryFigures(measurements, sampled), cpu: worker };
  };
  return withCalibrationSetup(server, work, { execArgv: FIXED_YOUNG_GENERATION });
}

function mean(values: (number | null | undefined)[]): number {
  return values.reduce<number>((sum, value) => sum + valueOrInfinity(value), 0) / values.length;
}
