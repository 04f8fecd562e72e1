/** Other programs that take a known share of the CPUs: are they found, with what they took, and how far do the figures move? */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { latencyFigures } from '../../plugin/result/delivery/assemble-latency.ts';
import { MachineWatch, readProcesses, sharesBetween } from '../../plugin/samplers/index.ts';
import { broadcast, join, withSetup } from './calibration-setup.ts';
import { atMost, type Bound, type Comparison, known, near, type Section } from './comparison.ts';

interface HogSize {
  receivers: number;
  broadcasts: number;
  /** Shares of all CPUs: below the one from which on times do not count, and above. */
  shares: number[];
  bound: Bound;
  /** How much longer than without hogs half of the copies may take, beside the smallest share. */
  slower: number;
}

const INTERVAL_MS = 100;
const PERIOD_MS = 20;
const WARM_UP = 5;

export async function hogs(size: HogSize): Promise<Section> {
  const quiet = await beside(size, 0);
  const rows: Comparison[] = [];
  for (const [index, share] of size.shares.entries()) {
    const { usedPercent, foundPercent, p50Ms } = await beside(size, share);
    const name = `hogs of ${100 * share} % of all CPUs`;
    rows.push(near(`${name}: what they used`, '%', usedPercent, foundPercent, size.bound));
    if (index === 0) rows.push(atMost(`${name}: latency, p50`, 'ms', quiet.p50Ms * size.slower, p50Ms));
  }
  return {
    title: 'Other programs',
    text:
      'On each CPU, a program computes for a share of the time, while the server broadcasts. Its own CPU time is the true value; per ' +
      'cent of all CPUs. Below a quarter, a comparison counts the times of such a run, unless little was left idle.',
    rows,
  };
}

/** With a server and a fleet of their own. */
function beside({ receivers, broadcasts }: HogSize, share: number) {
  return withSetup({}, async (setup) => {
    await join(setup.fleet, receivers);
    const programs = share === 0 ? [] : Array.from({ length: availableParallelism() }, () => startHog(share));
    try {
      await Promise.all(programs.map((one) => once(one, 'spawn')));
      const pids = programs.flatMap(({ pid }) => pid ?? []);
      const watch = new MachineWatch(async () => []);
      const used = async () =>
        [...(await readProcesses(pids, { pss: false })).values()].reduce((sum, { cpuUs = 0 }) => sum + cpuUs, 0);
      const count = broadcasts + WARM_UP;
      const [from, before] = [await watch.totals(), await used()];
      const measurements = await broadcast(setup, { count, intervalMs: INTERVAL_MS, receipts: count * receivers });
      const [to, after] = [await watch.totals(), await used()];
      measurements.frozen = measurements.frozen.filter(({ seq }) => seq > WARM_UP);
      const shares = from && to && sharesBetween(from, to);
      const { cores = 1, seconds = 1 } = shares ?? {};
      const found = shares?.programs.find(({ name }) => name.endsWith('hog.js'));
      return {
        usedPercent: (after - before) / 1e4 / seconds / cores,
        foundPercent: share === 0 ? 0 : (100 * known(found?.cores)) / cores,
        p50Ms: known(latencyFigures(measurements).oneWayMs?.p50),
      };
    } finally {
      for (const one of programs) one.kill('SIGKILL');
    }
  });
}

function startHog(share: number): ChildProcess {
  return spawn(process.execPath, [HOG, String(share * PERIOD_MS), String(PERIOD_MS)], { stdio: 'ignore' });
}

const HOG = new URL('hog.js', import.meta.url).pathname;
