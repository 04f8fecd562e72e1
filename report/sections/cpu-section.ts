/** Section on the CPU of connects, idle connections and broadcasts. */
import { MIN_BROADCAST_PARTS } from '../../protocol/result/machine-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { cpuColumns } from '../answer/cpu-line.ts';
import { cpuOverTimeChart } from '../charts/over-time-chart.ts';
import { layersInTableOrder, layerTitle } from '../figures/layers.ts';
import { codePlacesOf } from '../figures/places.ts';
import { amount, withUnit } from '../model/amount.ts';
import { chartBlock, figuresTable, linesBlock, type ReportSection } from '../model/document.ts';
import { codePlacesBlocks } from './places-blocks.ts';
import { NO_SAMPLES } from './section-parts.ts';

export function cpuSection(result: Result): ReportSection {
  const { absent } = result;
  const layers = layersInTableOrder(result, Object.keys(result.cpu));
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
      linesBlock('absent', [absent.cpu !== undefined && `The server’s CPU was not measured: ${absent.cpu}.`]),
      chartBlock(cpuOverTimeChart(result), NO_SAMPLES),
      figuresTable('CPU cost by layer', ['Layer', ...columns.map(([title]) => title)], rows, true),
      linesBlock('note', [whyNoInterval(result)]),
      ...places(result),
    ],
  };
}

/** Returns a table of CPU time by package. It is measured after the load, so the profiler affects no other figure. */
function places({ memory, cpuByPlace }: Result) {
  if (!cpuByPlace) return [];
  const { connect, copy, absent } = cpuByPlace;
  const idle =
    connect &&
    ` The processes were idle ${withUnit('share', 1 - connect.busyShare)} of the time in which connections were made.`;
  return [
    ...codePlacesOf({ memory: { ...memory, places: undefined }, cpuByPlace }).flatMap(codePlacesBlocks),
    linesBlock('note', [
      (connect || copy) &&
        `By V8’s CPU profiler, with connections of the run after the load had left, so that it is in no other figure. “Together” is what the kernel counts without the profiler’s thread; “other threads” also collect garbage.${idle ?? ''} \`connects.cpuprofile\` and \`copies.cpuprofile\` have the call trees.`,
      absent !== undefined && `CPU by place not measured${connect ? ' per copy' : ''}: ${absent}.`,
    ]),
  ];
}

function whyNoInterval({ cpu: layers, delivery }: Result): string | null {
  const isBare = Object.values(layers).some(
    (cost) => cost.broadcastMicrosecondsPerMessage !== null && !cost.intervals?.broadcastMicrosecondsPerMessage,
  );
  if (!isBare || !delivery || delivery.broadcasts >= MIN_BROADCAST_PARTS) return null;
  return `µs per copy have no interval with fewer than ${MIN_BROADCAST_PARTS} broadcasts.`;
}
