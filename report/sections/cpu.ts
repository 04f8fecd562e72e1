/** What connecting, waiting and broadcasting cost in CPU. */
import { MIN_BROADCAST_PARTS } from '../../protocol/result/machine.ts';
import type { Result } from '../../protocol/result/result.ts';
import { cpuOverTime } from '../charts/over-time.ts';
import { inOrder, layerTitle } from '../figures/layers.ts';
import { amount, numberText, type QuantityName, withUnit } from '../model/amount.ts';
import { drawing, type Finding, grid, lines, type Section } from '../model/document.ts';
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
      ...(rows.length > 0
        ? [grid('CPU cost by layer', ['Layer', ...columns.map(([title]) => title)], rows, true)]
        : []),
      lines('note', [whyNoInterval(result)]),
    ],
  };
}

/** The title of a column, its figure, and what that is. */
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
function finding({ cpu: layers, absent, messages }: Result): Finding[] {
  if (absent.cpu !== undefined) return [];
  const figures: [Cost, QuantityName, string][] = [
    ['rampSecondsPerThousandConnects', 'cpuSeconds', 'per 1,000 connects'],
    messages
      ? ['clientMicrosecondsPerMessage', 'microseconds', 'per client message']
      : ['broadcastMicrosecondsPerMessage', 'microseconds', 'per copy'],
  ];
  const known = figures.filter(([key]) => layers.worker?.[key] != null);
  const ofWorkers = known.map(([key, quantity, per]) => `${withUnit(quantity, layers.worker?.[key] ?? 0)} ${per}`);
  const ofProxy = known.map(([key, quantity]) => {
    const value = layers.nginx?.[key] ?? null;
    return value === null ? '–' : numberText(quantity, value);
  });
  if (known.length === 0) return [];
  const isProxyKnown = ofProxy.some((text) => text !== '–');
  const proxy = isProxyKnown ? ` (proxy: ${ofProxy.join(', ')})` : '';
  return [{ text: `worker CPU: ${ofWorkers.join(', ')}${proxy}` }];
}

function whyNoInterval({ cpu: layers, delivery }: Result): string | null {
  const isBare = Object.values(layers).some(
    (cost) => cost.broadcastMicrosecondsPerMessage !== null && !cost.intervals?.broadcastMicrosecondsPerMessage,
  );
  if (!isBare || !delivery || delivery.broadcasts >= MIN_BROADCAST_PARTS) return null;
  return `µs per copy have no interval with fewer than ${MIN_BROADCAST_PARTS} broadcasts.`;
}
