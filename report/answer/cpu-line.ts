import type { Result } from '../../protocol/result/result.ts';
import { hasLeavingUsers } from '../figures/held.ts';
import { roundUpOneDigit } from '../figures/per-connection.ts';
import { numberText, type QuantityName } from '../model/amount.ts';
import { integerText, textOrDash } from '../text/format.ts';
import { answerAmount, type ReportLine } from './line.ts';

type Cost = Exclude<keyof Result['cpu'][string], 'intervals' | 'isAtLeast'>;

/**
 * Reports the CPU time of workers and proxy. Returns no line if every CPU figure is smaller than its margin of error.
 */
export function cpuLines(result: Result): ReportLine[] {
  const { cpu: layers, absent } = result;
  if (absent.cpu !== undefined) return [];
  const worker = layers.worker;
  const isKnown = (key: Cost) => worker?.[key] != null || worker?.intervals?.[key] != null;
  const known = cpuColumns(result).filter(([, key]) => isKnown(key) && isInLine(key, result));
  if (known.length === 0) return [];
  const of = (layer: string) =>
    known.map(([, key, quantity]) => {
      const bound = layers[layer]?.[key] == null ? layers[layer]?.intervals?.[key]?.high95 : undefined;
      if (bound !== undefined) return `at most ${numberText(quantity, bound)}`;
      return textOrDash(
        layers[layer]?.[key],
        (value) => `${layers[layer]?.isAtLeast ? 'at least ' : ''}${numberText(quantity, value)}`,
      );
    });
  const ofWorkers = of('worker').map((text, index) => `${text} ${known[index]?.[0]}`);
  const isProxyKnown = known.some(([, key]) => layers.nginx?.[key] != null);
  const proxy = isProxyKnown ? ` (proxy: ${of('nginx').join(', ')})` : '';
  return [{ text: `worker CPU: ${ofWorkers.join(', ')}${proxy}${narrowingText(result)}` }];
}

/**
 * Margins of error of the CPU time per connect, as a share of that CPU time. The line reports margins above the first
 * value. The suggested number of connects would reach the second value.
 */
const [WIDE, WANTED] = [0.5, 0.25];

/**
 * Returns a text with the margin of error of the CPU time per connect, and advice on how to narrow the margin. Empty if
 * the margin is narrow.
 */
function narrowingText({ cpu: { worker }, connections: { failed, opened } }: Result): string {
  const value = worker?.rampSecondsPerThousandConnects;
  const interval = worker?.intervals?.rampSecondsPerThousandConnects;
  if (!interval || value === undefined) return '';
  const failures = failed > 0 ? 'fewer failed connects' : undefined;
  if (value === null) return `; ${failures ?? 'more connects, or a longer `hold`,'} would narrow it`;
  const share = (interval.high95 - value) / value;
  if (value <= 0 || share <= WIDE) return '';
  // Independent noise shrinks with the square root of the number of connects. A constant error shrinks faster.
  const enough = roundUpOneDigit(opened * (share / WANTED) ** 2);
  const how = failures ?? `${integerText(enough)} connects in place of ${integerText(opened)}`;
  return `; that of connects is known to ± ${integerText(100 * share)} %: ${how} would narrow it${failures ? '' : ` to ± ${100 * WANTED} %`}`;
}

/**
 * Returns whether the CPU figure is part of the line. If clients send messages, the CPU per message replaces the CPU
 * per copy and the idle CPU.
 */
function isInLine(key: Cost, { cpu, messages }: Result): boolean {
  if (!messages) return key !== 'idlePercent';
  if (key === 'broadcastMicrosecondsPerMessage') return false;
  return key !== 'idlePercent' || cpu.worker?.clientMicrosecondsPerMessage == null;
}

/** Returns title, result key and quantity of each CPU column. The title begins with the unit. */
export function cpuColumns(result: Result): [string, Cost, QuantityName][] {
  const { messages, cpu } = result;
  const hasIdle = !messages || Object.values(cpu).some(({ idlePercent }) => idlePercent !== null);
  const columns: [string, Cost][] = [
    [
      hasLeavingUsers(result) ? 's per 1,000 connects, with all that their users do' : 's per 1,000 connects',
      'rampSecondsPerThousandConnects',
    ],
    ['µs per client message', 'clientMicrosecondsPerMessage'],
    ['% while idle', 'idlePercent'],
    ['µs per copy', 'broadcastMicrosecondsPerMessage'],
  ];
  return columns
    .filter(([, key]) => (key === 'idlePercent' ? hasIdle : messages || key !== 'clientMicrosecondsPerMessage'))
    .map(([title, key]) => [title, key, answerAmount(`cpu.worker.${key}`, null).quantity]);
}
