/** What connecting, waiting and broadcasting cost in CPU. */
import { MIN_BROADCAST_PARTS } from '../../protocol/result/machine-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { cpuColumns } from '../answer/cpu-line.ts';
import { cpuOverTime } from '../charts/over-time-chart.ts';
import { inOrder, layerTitle } from '../figures/layers.ts';
import { amount } from '../model/amount.ts';
import { drawing, grid, lines, type Section } from '../model/document.ts';
import { NO_SAMPLES } from './section-parts.ts';

export function cpu(result: Result): Section {
  const { absent } = result;
  const layers = inOrder(result, Object.keys(result.cpu));
  const columns = cpuColumns(result);
  const rows = layers.map((layer) => {
    const cost = result.cpu[layer] as Result['cpu'][string];
    return [
      layerTitle(result, layer),
      ...columns.map(([, key, quantity]) => ({
        ...amount(quantity, cost[key], cost.intervals?.[key] ?? null),
        ...(cost.isAtLeast && { isAtLeast: true as const }),
      })),
    ];
  });
  return {
    id: 'cpu',
    title: 'CPU',
    lead: '100 % is one core.',
    terms: ['CPU cost', 'Layers'],
    blocks: [
      lines('absent', [absent.cpu !== undefined && `The server’s CPU was not measured: ${absent.cpu}.`]),
      drawing(cpuOverTime(result), NO_SAMPLES),
      grid('CPU cost by layer', ['Layer', ...columns.map(([title]) => title)], rows, true),
      lines('note', [whyNoInterval(result)]),
    ],
  };
}

function whyNoInterval({ cpu: layers, delivery }: Result): string | null {
  const isBare = Object.values(layers).some(
    (cost) => cost.broadcastMicrosecondsPerMessage !== null && !cost.intervals?.broadcastMicrosecondsPerMessage,
  );
  if (!isBare || !delivery || delivery.broadcasts >= MIN_BROADCAST_PARTS) return null;
  return `µs per copy have no interval with fewer than ${MIN_BROADCAST_PARTS} broadcasts.`;
}
