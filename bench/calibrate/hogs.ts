/**
 * Calibrates the detection of other programs that use a known share of the CPUs, and measures their effect on latency.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { latencyFigures } from '../../plugin/result/delivery/assemble-latency.ts';
import { MachineWatch, machineSharesBetween, readProcesses } from '../../plugin/samplers/index.ts';
import { joinClients, publishAndFinalize, withCalibrationSetup } from './calibration-setup.ts';
import {
  type CalibrationSection,
  compareAtMost,
  compareWithin,
  type ErrorBound,
  type TruthComparison,
  valueOrInfinity,
} from './comparison.ts';

interface HogSize {
  receivers: number;
  broadcasts: number;
  /** Shares of all CPUs that the other programs use. Some are below the limit for comparing times, some above. */
  shares: number[];
  bound: ErrorBound;
  /** Allowed factor of the p50 with the smallest share, relative to a quiet machine. */
  slower: number;
}

const INTERVAL_MS = 100;
const PERIOD_MS = 20;
const WARM_UP = 5;

export async function calibrateHogs(size: HogSize): Promise<CalibrationSection> {
  const quiet = await measureWith(size, 0);
  const rows: TruthComparison[] = [];
  for (const [index, share] of size.shares.entries()) {
    const { usedPercent, foundPercent, p50Ms } = await measureWith(size, share);
    const name = `hogs of ${100 * share} % of all CPUs`;
    rows.push(compareWithin(`${name}: what they used`, '%', usedPercent, foundPercent, size.bound));
    if (index === 0) rows.push(compareAtMost(`${name}: latency, p50`, 'ms', quiet.p50Ms * size.slower, p50Ms));
  }
  return {
    title: 'Other programs',
    text:
      'On each CPU, a program uses a share of the time while the server broadcasts. The true value is its own CPU time, in percent ' +
      'of all CPUs.',
    rows,
  };
}

/** Measures with a new server and a new fleet process. */
function measureWith({ receivers, broadcasts }: HogSize, share: number) {
  return withCalibrationSetup({}, async (setup) => {
    await joinClients(setup.fleet, receivers);
    const programs = share === 0 ? [] : Array.from({ length: availableParallelism() }, () => startHog(share));
    try {
      await Promise.all(programs.map((program) => once(program, 'spawn')));
      const pids = programs.flatMap(({ pid }) => pid ?? []);
      const watch = new MachineWatch(async () => []);
      const used = async () =>
        [...(await readProcesses(pids, { pss: false })).values()].reduce((sum, { cpuUs = 0 }) => sum + cpuUs, 0);
      const count = broadcasts + WARM_UP;
      const [from, before] = [await watch.totals(), await used()];
      const measurements = await publishAndFinalize(setup, {
        count,
        intervalMs: INTERVAL_MS,
        receipts: count * receivers,
      });
      const [to, after] = [await watch.totals(), await used()];
      measurements.frozen = measurements.frozen.filter(({ seq }) => seq > WARM_UP);
      const shares = from && to && machineSharesBetween(from, to);
      const { cores = 1, seconds = 1 } = shares ?? {};
      const found = shares?.programs.find(({ name }) => name.endsWith('hog.js'));
      return {
        usedPercent: (after - before) / 1e4 / seconds / cores,
        foundPercent: share === 0 ? 0 : (100 * valueOrInfinity(found?.cores)) / cores,
        p50Ms: valueOrInfinity(latencyFigures(measurements).oneWayMs?.p50),
      };
    } finally {
      for (const program of programs) program.kill('SIGKILL');
    }
  });
}

function startHog(share: number): ChildProcess {
  return spawn(process.execPath, [HOG, String(share * PERIOD_MS), String(PERIOD_MS)], { stdio: 'ignore' });
}

const HOG = new URL('hog.js', import.meta.url).pathname;
