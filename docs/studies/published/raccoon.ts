/**
 * Table that compares the benchmarks of Raccoon with runs of this project. Raccoon is an event collector in Go whose
 * clients send batches.
 */
import type { Result } from '../../../protocol/result/result.ts';
import {
  decimalsText,
  integerText,
  KB,
  kilobytesText,
  millisecondsText,
  textOrDash,
} from '../../../report/text/format.ts';
import { at, type SideBySide } from '../../figures.ts';

const worstMs = (values: number[]) => (values.length > 0 ? `${millisecondsText(Math.max(...values))} ms` : '–');
const workersOf = ({ connections }: Result) => Object.keys(connections.perWorker).length;
const handlers = ({ messages }: Result) => messages?.workers.flatMap(({ handlerMs }) => handlerMs ?? []) ?? [];
const queues = ({ messages }: Result) => messages?.workers.map(({ queueMs }) => queueMs) ?? [];
const inService = ({ memory }: Result) => memory.inService?.peakBytes.workerRss;

const VERSIONS = ['v0.1.0', 'v0.1.0', 'v0.1.0', 'v0.1.0', 'v0.1.2'];
const five = (cell: string) => VERSIONS.map(() => cell);

export const RACCOON: SideBySide = {
  title: 'Raccoon’s benchmarks and our runs',
  published: VERSIONS.map((version) => `Raccoon ${version}`),
  rows: [
    ['New connections', five('all in one go'), at('connections.configuredRatePerSec', 'perSecond')],
    [
      'Duration',
      ['1 hour', '1 hour', '1 hour', '1 hour', '30 min'],
      ({ messages }) => textOrDash(messages?.window?.seconds, (seconds) => `${integerText(seconds)} s`),
    ],
    ['Connections', ['10,000', '50,000', '50,000', '100,000', '10,000'], at('connections.peak', 'count')],
    ['Pods, workers', ['1', '3', '3', '5', '1'], (result) => integerText(workersOf(result))],
    [
      'Events per 10 s',
      ['1,500,000', '25,000', '100,000', '100,000', '1,500,000'],
      ({ messages }) => textOrDash(messages?.window?.eventsPerSec, (perSec) => integerText(perSec * 10)),
    ],
    [
      'Server processing p95',
      ['~ 6 - 22 ms', '~ 20 - 30 ms', '~ 3 - 5 ms', '~ 3 - 9 ms', '~ 1 - 7.13k ms'],
      (result) => worstMs(handlers(result).map(({ p95 }) => p95)),
    ],
    [
      'Server processing, upper',
      ['~ 3 - 913 ms', '~ 3 s', '~ 2.5 s', '~ 2.5 s', '~ 1 - 7.13k ms'],
      (result) => worstMs(handlers(result).map(({ max }) => max)),
    ],
    [
      'Workers, mean p95',
      ['~ 1.7 - 7 ms', '~ 35 - 50 ms', '~ 20 - 30 ms', '~ 20 - 30 ms', '~ 0.8 - 9.25 ms'],
      () => 'has no such queue',
    ],
    [
      'Workers, max upper',
      ['~ 2 - 140 ms', '~ 35 - 45 ms', '~ 20 - 30 ms', '~ 20 - 30 ms', '~ 2 - 224 ms'],
      () => 'has no such queue',
    ],
    ['Event loop’s delay p99', five('not measured'), (result) => worstMs(queues(result).map(({ p99 }) => p99))],
    ['Send to acknowledgement p95, ms', five('not measured'), at('messages.ackMs.p95', 'milliseconds')],
    [
      'Memory per pod or worker, MB',
      ['711 – 870', '1,000 – 1,500', '400 – 500', '1,700 – 2,000', '960 – 1,200'],
      (result) => textOrDash(inService(result), (bytes) => decimalsText(bytes / workersOf(result) / KB ** 2, 0)),
    ],
    [
      'Memory ÷ connections, KB',
      ['73 – 89', '61 – 92', '25 – 31', '87 – 102', '98 – 123'],
      (result) => textOrDash(inService(result), (bytes) => kilobytesText(bytes / result.connections.peak)),
    ],
    [
      'CPU cores each',
      ['~ 2.2', '~ 0.3 - 0.6', '~ 0.7', '~ 1', '~ 2.57'],
      ({ cpu, messages, ...result }) =>
        textOrDash(cpu.worker?.clientMicrosecondsPerMessage, (us) =>
          messages?.window
            ? decimalsText((us * messages.window.sentPerSec) / 1e6 / workersOf(result as Result), 2)
            : '–',
        ),
    ],
  ],
};
