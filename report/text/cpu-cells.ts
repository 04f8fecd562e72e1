/** CPU of each layer as text, for console and Markdown. */
import { MIN_BROADCAST_PARTS } from '../../protocol/result/machine.ts';
import type { Result } from '../../protocol/result/result.ts';
import { inOrder } from '../figures/layers.ts';
import { decimals, withMargin } from './format.ts';

type Cost = Exclude<keyof Result['cpu'][string], 'intervals'>;

/** What stands in each column: its title, the figure, its digits. */
function columns({ messages }: Result): [title: string, key: Cost, digits: number][] {
  return [
    ['s per 1,000 connects', 'rampSecondsPerThousandConnects', 3],
    // While clients send messages, nobody is idle.
    messages ? ['µs per client message', 'clientMicrosecondsPerMessage', 1] : ['% while idle', 'idlePercent', 1],
    ['µs per message', 'broadcastMicrosecondsPerMessage', 1],
  ];
}

/** @returns `Layer`, then one title for each column */
export function cpuHead(result: Result): string[] {
  return ['Layer', ...columns(result).map(([title]) => title)];
}

/** @returns by layer, in the order of tables: a cell for each column, without the layer's title */
export function cpuCells(result: Result): [layer: string, cells: string[]][] {
  return inOrder(result, Object.keys(result.cpu)).map((layer) => {
    const cost = result.cpu[layer] as Result['cpu'][string];
    const cells = columns(result).map(([, key, digits]) =>
      withMargin(cost[key], cost.intervals?.[key], (value) => decimals(value, digits)),
    );
    return [layer, cells];
  });
}

/** @returns what is missing in the cells, and why */
export function cpuNotes({ cpu, delivery }: Result): string[] {
  const bare = Object.values(cpu).some(
    (cost) => cost.broadcastMicrosecondsPerMessage !== null && !cost.intervals?.broadcastMicrosecondsPerMessage,
  );
  if (!bare || !delivery || delivery.broadcasts >= MIN_BROADCAST_PARTS) return [];
  return [`µs per message have no interval: it takes ${MIN_BROADCAST_PARTS} broadcasts or more.`];
}
