import type { Result } from '../../protocol/result/result.ts';
import { numberText, type QuantityName } from '../model/amount.ts';
import { optional } from '../text/format.ts';
import type { Line } from './line.ts';

type Cost = Exclude<keyof Result['cpu'][string], 'intervals'>;

/** Layers without a figure that is more than its error have none here. */
export function cpuLines(result: Result): Line[] {
  const { cpu: layers, absent, messages } = result;
  if (absent.cpu !== undefined) return [];
  const asked = cpuColumns(result).toSpliced(messages ? 2 : 1, 1);
  const known = asked.filter(([, key]) => layers.worker?.[key] != null);
  if (known.length === 0) return [];
  const of = (layer: string) =>
    known.map(([, key, quantity]) => optional(layers[layer]?.[key], (value) => numberText(quantity, value)));
  const ofWorkers = of('worker').map((text, index) => `${text} ${known[index]?.[0]}`);
  const isProxyKnown = known.some(([, key]) => layers.nginx?.[key] != null);
  const proxy = isProxyKnown ? ` (proxy: ${of('nginx').join(', ')})` : '';
  return [{ text: `worker CPU: ${ofWorkers.join(', ')}${proxy}` }];
}

/** The title of a column, which begins with its unit; its figure, and what that is. */
export function cpuColumns({ messages }: Result): [string, Cost, QuantityName][] {
  return [
    ['s per 1,000 connects', 'rampSecondsPerThousandConnects', 'cpuSeconds'],
    // While clients send messages, nobody is idle.
    messages
      ? ['µs per client message', 'clientMicrosecondsPerMessage', 'microseconds']
      : ['% while idle', 'idlePercent', 'percent'],
    ['µs per copy', 'broadcastMicrosecondsPerMessage', 'microseconds'],
  ];
}
