import type { Result } from '../../protocol/result/result.ts';
import { numberText, type QuantityName } from '../model/amount.ts';
import { optional } from '../text/format.ts';
import { amountOf, type Line } from './line.ts';

type Cost = Exclude<keyof Result['cpu'][string], 'intervals' | 'isAtLeast'>;

/** Layers without a figure that is more than its error have none here. */
export function cpuLines(result: Result): Line[] {
  const { cpu: layers, absent } = result;
  if (absent.cpu !== undefined) return [];
  const known = cpuColumns(result).filter(([, key]) => layers.worker?.[key] != null && isInLine(key, result));
  if (known.length === 0) return [];
  const of = (layer: string) =>
    known.map(([, key, quantity]) =>
      optional(
        layers[layer]?.[key],
        (value) => `${layers[layer]?.isAtLeast ? 'at least ' : ''}${numberText(quantity, value)}`,
      ),
    );
  const ofWorkers = of('worker').map((text, index) => `${text} ${known[index]?.[0]}`);
  const isProxyKnown = known.some(([, key]) => layers.nginx?.[key] != null);
  const proxy = isProxyKnown ? ` (proxy: ${of('nginx').join(', ')})` : '';
  return [{ text: `worker CPU: ${ofWorkers.join(', ')}${proxy}` }];
}

/** Messages of clients come first. What cannot be told from the idle CPU is said as that. */
function isInLine(key: Cost, { cpu, messages }: Result): boolean {
  if (!messages) return key !== 'idlePercent';
  if (key === 'broadcastMicrosecondsPerMessage') return false;
  return key !== 'idlePercent' || cpu.worker?.clientMicrosecondsPerMessage == null;
}

/** The title of a column, which begins with its unit; its figure, and what that is. */
export function cpuColumns({ messages, cpu }: Result): [string, Cost, QuantityName][] {
  const hasIdle = !messages || Object.values(cpu).some(({ idlePercent }) => idlePercent !== null);
  const columns: [string, Cost][] = [
    ['s per 1,000 connects', 'rampSecondsPerThousandConnects'],
    ['µs per client message', 'clientMicrosecondsPerMessage'],
    ['% while idle', 'idlePercent'],
    ['µs per copy', 'broadcastMicrosecondsPerMessage'],
  ];
  return columns
    .filter(([, key]) => (key === 'idlePercent' ? hasIdle : messages || key !== 'clientMicrosecondsPerMessage'))
    .map(([title, key]) => [title, key, amountOf(`cpu.worker.${key}`, null).quantity]);
}
