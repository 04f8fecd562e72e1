/** Raccoon's table, and below it our runs in which every connection sends batches. */
import type { Messages } from '../../protocol/result/messages.ts';
import type { Result } from '../../protocol/result/result.ts';
import { dataTable } from '../../report/render/blocks.ts';
import type { Html } from '../../report/render/markup.ts';
import { decimals, integer, kilobytes, milliseconds, optional } from '../../report/text/format.ts';
import { RACCOON } from './published.ts';

const KB_OF_MB = 1024;
const HEAD = [
  '',
  'Duration',
  'Connections',
  'Pods, workers',
  'Events per 10 s',
  'Server processing p95',
  '… upper',
  'Workers, mean p95',
  '… max upper',
  'Queue p99 (max)',
  'Send to acknowledgement p95 (max)',
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
      run.duration,
      integer(connections),
      integer(pods),
      integer(run.eventsPer10s),
      run.serverLatency.p95,
      run.serverLatency.upper,
      run.workersLatency.meanP95,
      run.workersLatency.maxUpper,
      ...['–', '–'],
      `${integer(from)} – ${integer(to)}`,
      `${kb(from)} – ${kb(to)}`,
      run.coresPerPod,
    ];
  });
  const own = results.flatMap((result) => (result.messages ? [ours(result, result.messages)] : []));
  const none = ['us: no report yet', ...HEAD.slice(1).map(() => '')];
  return dataTable('Raccoon’s benchmarks and our runs', HEAD, [...theirs, ...(own.length > 0 ? own : [none])]);
}

function ours({ verdict, connections: { peak, perWorker }, memory, cpu }: Result, messages: Messages): string[] {
  const workers = Object.keys(perWorker).length;
  const { window, ackMs, workers: seen } = messages;
  const bytes = memory.inService?.peakBytes.workerRss;
  const handlers = seen.flatMap(({ handlerMs }) => handlerMs ?? []);
  const worst = (values: number[]) => (values.length > 0 ? `${milliseconds(Math.max(...values))} ms` : '–');
  const queue = worst(seen.map(({ queueMs }) => queueMs.p99));
  const microseconds = cpu.worker?.clientMicrosecondsPerMessage ?? null;
  return [
    `us: ${verdict.status}`,
    optional(window?.seconds, (seconds) => `${integer(seconds)} s`),
    integer(peak),
    integer(workers),
    optional(window?.eventsPerSec, (perSec) => integer(perSec * 10)),
    worst(handlers.map(({ p95 }) => p95)),
    worst(handlers.map(({ max }) => max)),
    ...['–', '–'],
    seen.length > 0 ? `${queue} (${worst(seen.map(({ queueMs }) => queueMs.max))})` : '–',
    ackMs ? `${milliseconds(ackMs.p95 ?? ackMs.max)} ms (${milliseconds(ackMs.max)} ms)` : '–',
    optional(bytes, (total) => decimals(total / workers / 1024 ** 2, 0)),
    optional(bytes, (total) => kilobytes(total / peak)),
    window && microseconds !== null ? decimals((microseconds * window.sentPerSec) / 1e6 / workers, 2) : '–',
  ];
}
