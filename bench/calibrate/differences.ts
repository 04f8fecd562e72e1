/**
 * Calibrates `compareSets` with alternating runs, as in `study A B`. It must detect a server that is slower and larger by a
 * known share, and must find no difference between halves of equal runs.
 */
import { type Result, resultSchema } from '../../protocol/result/result.ts';
import { compareSets } from '../../report/compare/compare.ts';
import { startRun } from '../../test/helpers/run.ts';
import { CALIBRATION_ROOM, CALIBRATION_TOKEN, type ServerPlan, startKnownServer } from './calibration-setup.ts';
import {
  type CalibrationSection,
  compareAtMost,
  compareExactly,
  type TruthComparison,
  valueOrInfinity,
} from './comparison.ts';
import type { KnownServerStarted } from './known-server.ts';

const SIZE = { connections: 1000, broadcasts: 100, broadcastSeconds: 0.2, holdSeconds: 10 };
/** Number of runs per side. */
const RUNS = 5;
const KEEP_BYTES = 16 * 1024;
const DELAY_MS = 100;
const SLOWER = 0.2;
const LARGER = 0.1;
const BUSIER = 0.25;
const REFERENCE: ServerPlan = { keep: { kind: 'buffer', bytes: KEEP_BYTES }, delaysMs: [[0, DELAY_MS]] };

const P99 = 'latency.oneWayMs.p99';
const MEMORY = ['memory.perConnectionBytes.workerPss.slope', 'memory.perConnectionBytes.workerRss.slope'];
const CPU_CONNECT = 'cpu.worker.rampSecondsPerThousandConnects';
const CPU_MESSAGE = 'cpu.worker.broadcastMicrosecondsPerMessage';
/** Maximum share of false alarms. Comparisons have a confidence of 95 %. */
const MAX_FALSE_SHARE = 0.05;

/** Measures the differences. Needs 3 × `RUNS` + 1 runs of 70 seconds. */
export async function calibrateDifferences(): Promise<CalibrationSection> {
  const pilot = await artilleryRun(SIZE, REFERENCE);
  const changed = changedBy(pilot);
  const sides: Record<'reference' | 'twin' | 'changed', Result[]> = { reference: [], twin: [], changed: [] };
  for (let round = 0; round < RUNS; round++) {
    const order = (['reference', 'changed', 'twin'] as const).slice();
    if (round % 2 === 1) order.reverse();
    for (const side of order) {
      sides[side].push(await artilleryRun(SIZE, side === 'changed' ? changed : REFERENCE));
    }
  }
  const { reference, twin } = sides;
  return {
    title: 'Differences that a comparison sees',
    text:
      `${RUNS} runs of ${SIZE.connections} connections on each side, in turns. The changed server delays copies by ` +
      `${100 * SLOWER} % more, keeps ${100 * LARGER} % more memory per connection, and takes ${100 * BUSIER} % more CPU per ` +
      `connect and per message: a comparison must call each worse. Then it compares halves of the ${2 * RUNS} equal runs, divided in every ` +
      'possible way.',
    rows: [...detectedRows(sides.reference, sides.changed), ...falseDifferenceRows([...reference, ...twin])],
  };
}

function changedBy({ memory, cpu }: Result): ServerPlan {
  const slope = valueOrInfinity(
    MEMORY.map((path) => memory.perConnectionBytes[path.split('.')[2] as string]?.slope).find(Boolean),
  );
  const worker = cpu.worker;
  return {
    keep: { kind: 'buffer', bytes: Math.round(KEEP_BYTES + LARGER * slope) },
    delaysMs: [[0, DELAY_MS * (1 + SLOWER)]],
    // Seconds per thousand connects are equal to milliseconds per connect.
    connectCpuUs: BUSIER * 1000 * valueOrInfinity(worker?.rampSecondsPerThousandConnects),
    copyCpuUs: BUSIER * valueOrInfinity(worker?.broadcastMicrosecondsPerMessage),
  };
}

function detectedRows(reference: Result[], changed: Result[]): TruthComparison[] {
  const { figures } = compareSets([
    { name: 'reference', results: reference },
    { name: 'changed', results: changed },
  ]);
  const row = (what: string, paths: string[]) => {
    const figure = figures.find(({ path }) => paths.includes(path));
    return compareExactly(`${what}: worse`, 1, figure?.differences[0]?.answer === 'worse' ? 1 : 0);
  };
  return [
    row(`one way p99, ${100 * SLOWER} % slower`, [P99]),
    row(`memory per connection, ${100 * LARGER} % more`, MEMORY),
    row(`CPU per connect, ${100 * BUSIER} % more`, [CPU_CONNECT]),
    row(`CPU per message, ${100 * BUSIER} % more`, [CPU_MESSAGE]),
  ];
}

function falseDifferenceRows(equal: Result[]): TruthComparison[] {
  const all = divisionsIntoHalves(equal);
  const falsePositives = all.filter(([half, otherHalf]) => {
    const { figures } = compareSets([
      { name: 'half', results: half },
      { name: 'other half', results: otherHalf },
    ]);
    return figures.some(({ differences: [difference] }) => isDifferent(difference?.answer));
  }).length;
  const allowed = Math.floor(MAX_FALSE_SHARE * all.length);
  return [
    compareAtMost(`${all.length} comparisons of equal runs: with a difference`, 'count', allowed, falsePositives),
  ];
}

/** Returns every division of an even number of values into two halves, without repetition. */
export function divisionsIntoHalves<T>(values: T[]): [T[], T[]][] {
  const chosen = (from: number, count: number): number[][] =>
    count === 0
      ? [[]]
      : values.flatMap((_, first) =>
          first < from ? [] : chosen(first + 1, count - 1).map((rest) => [first, ...rest]),
        );
  // The first half always contains the first value, so that no division occurs twice.
  return chosen(1, values.length / 2 - 1).map((rest) => {
    const half = new Set([0, ...rest]);
    return [values.filter((_, index) => half.has(index)), values.filter((_, index) => !half.has(index))];
  });
}

function isDifferent(answer: string | undefined): boolean {
  return answer === 'better' || answer === 'worse';
}

interface ArtilleryRunSize {
  /** Number of connections. They are opened in four equal ramps. */
  connections: number;
  broadcasts: number;
  broadcastSeconds: number;
  /** Idle time before the broadcasts. CPU use in this time is subtracted from the CPU per connect. */
  holdSeconds: number;
}

const RAMPS = 4;
const RAMP_SECONDS = 2;

/** Runs `artillery run` with engine and plugin on a new known server. */
async function artilleryRun(size: ArtilleryRunSize, config: ServerPlan): Promise<Result> {
  const server = await startKnownServer(config);
  const cleanUps: (() => unknown)[] = [];
  try {
    const script = scriptOf(server.started, size);
    const started = startRun({ after: (cleanUp) => void cleanUps.push(cleanUp) }, { script });
    const exitCode = await started.ended;
    const result = started.result();
    if (!result?.run.complete) throw new Error(`artillery run ended with ${exitCode}:\n${started.output()}`);
    return resultSchema.parse(result);
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
    await server.close();
  }
}

function scriptOf(
  { url, controlUrl }: KnownServerStarted,
  { connections, broadcasts: count, broadcastSeconds: interval, holdSeconds: hold }: ArtilleryRunSize,
): object {
  const rate = connections / RAMPS / RAMP_SECONDS;
  const ramp = [{ duration: RAMP_SECONDS, arrivalRate: rate, rampTo: rate }, { pause: 2 }];
  return {
    config: {
      target: url,
      engines: { 'socketio-capacity': {} },
      plugins: {
        'socketio-capacity': {
          control: { urls: [controlUrl], token: CALIBRATION_TOKEN },
          singleRoundTrips: 5,
          hold,
          broadcasts: { count, interval },
          drain: { quiet: 0.5 },
        },
      },
      phases: Array.from({ length: RAMPS }, () => ramp).flat(),
    },
    scenarios: [
      { engine: 'socketio-capacity', flow: [{ emit: ['join_room', { clientKey: CALIBRATION_ROOM }] }, { hold: true }] },
    ],
  };
}
