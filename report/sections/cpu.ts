/** What connecting, waiting and broadcasting cost in CPU. */
import { MIN_BROADCAST_PARTS } from '../../protocol/result/machine.ts';
import type { Result } from '../../protocol/result/result.ts';
import { cpuOverTime } from '../charts/over-time.ts';
import { inOrder, layerTitle } from '../figures/layers.ts';
import { amount, numberText, type QuantityName } from '../model/amount.ts';
import { drawing, type Finding, grid, lines, type Section } from '../model/document.ts';
import { optional } from '../text/format.ts';
import { NO_SAMPLES } from './parts.ts';

type Cost = Exclude<keyof Result['cpu'][string], 'intervals'>;

export function cpu(result: Result): Section {
  const { absent } = result;
  const layers = inOrder(result, Object.keys(result.cpu));
  const columns = columnsOf(result);
  const rows = layers.map((layer) => {
    const cost = result.cpu[layer] as Result['cpu'][string];
    return [
      layerTitle(result, layer),
      ...columns.map(([, key, quantity]) => amount(quantity, cost[key], cost.intervals?.[key] ?? null)),
    ];
  });
  return {
    id: 'cpu',
    title: 'CPU',
    lead: '100 % is one core.',
    terms: ['CPU cost', 'Layers'],
    findings: finding(result),
    blocks: [
      lines('absent', [absent.cpu !== undefined && `The server’s CPU was not measured: ${absent.cpu}.`]),
      drawing(cpuOverTime(result), NO_SAMPLES),
      grid('CPU cost by layer', ['Layer', ...columns.map(([title]) => title)], rows, true),
      lines('note', [whyNoInterval(result)]),
    ],
  };
}

/** The title of a column, which begins with its unit; its figure, and what that is. */
function columnsOf({ messages }: Result): [string, Cost, QuantityName][] {
  return [
    ['s per 1,000 connects', 'rampSecondsPerThousandConnects', 'cpuSeconds'],
    // While clients send messages, nobody is idle.
    messages
      ? ['µs per client message', 'clientMicrosecondsPerMessage', 'microseconds']
      : ['% while idle', 'idlePercent', 'percent'],
    ['µs per copy', 'broadcastMicrosecondsPerMessage', 'microseconds'],
  ];
}

/** Layers without a figure that is more than its error have none here. */
function finding(result: Result): Finding[] {
  const { cpu: layers, absent, messages } = result;
  if (absent.cpu !== undefined) return [];
  const asked = columnsOf(result).toSpliced(messages ? 2 : 1, 1);
  const known = asked.filter(([, key]) => layers.worker?.[key] != null);
  if (known.length === 0) return [];
  const of = (layer: string) =>
    known.map(([, key, quantity]) => optional(layers[layer]?.[key], (value) => numberText(quantity, value)));
  const ofWorkers = of('worker').map((text, index) => `${text} ${known[index]?.[0]}`);
  const isProxyKnown = known.some(([, key]) => layers.nginx?.[key] != null);
  const proxy = isProxyKnown ? ` (proxy: ${of('nginx').join(', ')})` : '';
  return [{ text: `worker CPU: ${ofWorkers.join(', ')}${proxy}` }];
}

function whyNoInterval({ cpu: layers, delivery }: Result): string | null {
  const isBare = Object.values(layers).some(
    (cost) => cost.broadcastMicrosecondsPerMessage !== null && !cost.intervals?.broadcastMicrosecondsPerMessage,
  );
  if (!isBare || !delivery || delivery.broadcasts >= MIN_BROADCAST_PARTS) return null;
  return `µs per copy have no interval with fewer than ${MIN_BROADCAST_PARTS} broadcasts.`;
}
