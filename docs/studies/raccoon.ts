/** Raccoon's table, with what its memory is for each connection of a pod. */
import type { Result } from '../../protocol/result/result.ts';
import { decimals, integer, kilobytes } from '../../report/format.ts';
import type { Html } from '../../report/html/html.ts';
import { dataTable } from '../../report/html/section.ts';
import { optional } from '../../report/markdown/figures.ts';
import { RACCOON } from './published.ts';

const KB_OF_MB = 1024;
const HEAD = [
  '',
  'Connections',
  'Pods, workers',
  'Events per 10 s',
  'Server latency, p95',
  'Memory per pod or worker, MB',
  'Memory ÷ connections, KB',
  'CPU cores each',
];

/** @param results usable ones */
export function raccoonTable(results: Result[]): Html {
  const theirs = RACCOON.map(({ version, connections, pods, memoryPerPodMb: [from, to], ...run }) => {
    const kb = (mb: number) => decimals((mb * KB_OF_MB) / (connections / pods), 0);
    return [
      `Raccoon ${version}`,
      integer(connections),
      integer(pods),
      integer(run.eventsPer10s),
      run.serverLatencyP95,
      `${integer(from)} – ${integer(to)}`,
      `${kb(from)} – ${kb(to)}`,
      run.coresPerPod,
    ];
  });
  return dataTable('Raccoon’s benchmarks and our runs', HEAD, [...theirs, ...results.map(ours)]);
}

/** While connections only wait: our runs send nothing in that direction. */
function ours({ connections: { peak, perWorker }, memory, cpu }: Result): string[] {
  const workers = Object.keys(perWorker).length;
  const bytes = memory.plateaus.find(({ connections }) => connections === peak)?.workerRss;
  return [
    'us',
    integer(peak),
    integer(workers),
    '0',
    '–',
    optional(bytes, (total) => decimals(total / workers / 1024 ** 2, 0)),
    optional(bytes, (total) => kilobytes(total / peak)),
    optional(cpu.worker?.idlePercent, (percent) => decimals(percent / 100 / workers, 2)),
  ];
}
