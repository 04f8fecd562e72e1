/** The result as a summary for a terminal: the verdict, a headline, and the tables behind it. */
import { styleText } from 'node:util';
import type { Result } from '../../protocol/result/result.ts';
import { absentHeadline } from '../absent.ts';
import { messageHeadline } from '../client-messages.ts';
import { counted, integer, percentOf, wrap } from '../format.ts';
import { heldOf, heldSeconds, missesSome } from '../held.ts';
import { oneWayTail } from '../latency-notes.ts';
import { layerTitle } from '../layers.ts';
import { memoryHeadline } from '../memory-text.ts';
import { comesAndGoes, overTimeHeadline } from '../over-time-text.ts';
import { serverName } from '../server.ts';
import { clientsOf } from '../transports.ts';
import { generator } from './generator.ts';
import { perConnection, plateaus } from './memory.ts';
import { overTime } from './over-time.ts';
import { capacity, clientMessages, connections, cpu, latency, messages, type Section } from './tables.ts';

export interface ConsoleOptions {
  /** ANSI colours. */
  color: boolean;
  /** Columns of the terminal, for wrapping sentences and for how many columns a table gets. */
  width: number;
}

const INDENT = '  ';
const DOT = ' · ';
const STATUS_COLORS = { VALID: 'green', SUSPECT: 'yellow', INVALID: 'red' } as const;
const PROFILES = {
  full: 'nginx, PM2 and Redis',
  embedded: 'EMBEDDED PROFILE: workers with the in-memory adapter, no proxy',
  remote: 'your own server',
};

/** @returns lines without a trailing newline, free of escape codes unless `color` */
export function renderConsole(result: Result, { color, width }: ConsoleOptions): string {
  const paint = (style: Parameters<typeof styleText>[0], text: string) =>
    color ? styleText(style, text, { validateStream: false }) : text;
  const { status } = result.verdict;
  const sections = [
    connections(result),
    ...memory(result, width),
    clientMessages(result, width),
    messages(result, width),
    latency(result),
    cpu(result),
    generator(result),
    capacity(result),
  ].filter((section) => section !== null);

  const lines = [
    `${paint(['bold', STATUS_COLORS[status]], status)}  ${titleOf(result)}`,
    ...wrap(headline(result), width, INDENT, DOT).map((line) => paint('bold', line)),
    ...reasons(result, width),
  ];
  for (const { title, lines: body, notes = [] } of sections) {
    lines.push('', paint('bold', title), ...body);
    for (const note of notes) lines.push(...wrap(INDENT + note, width, INDENT));
  }
  lines.push('', ...footer(result, width));
  return lines.join('\n');
}

function memory(result: Result, width: number): (Section | null)[] {
  if (result.memory.overTime) return overTime(result, width);
  return [plateaus(result, width), perConnection(result, width)];
}

function titleOf({ run }: Result): string {
  const incomplete = run.complete ? [] : ['INCOMPLETE: the run ended early'];
  return [...incomplete, run.scenario, PROFILES[run.profile], run.target, `engine ${run.engine}`].join(DOT);
}

/** The figures that people quote; none for an INVALID run. */
function headline(result: Result): string {
  if (result.verdict.status === 'INVALID') return 'No headline figures, because this measurement cannot be trusted.';
  const { latency: times, delivery } = result;
  const clients = clientsOf(result);
  const parts = [`${heldHeadline(result)}${clients === null ? '' : ` (${clients})`}`];
  const memory = overTimeHeadline(result) ?? memoryHeadline(result);
  if (memory !== null) parts.push(memory);
  if (delivery && delivery.broadcasts > 0) {
    const { broadcasts, expected, received } = delivery;
    const everybody = missesSome(delivery) ? 'everybody still connected' : 'everybody';
    const complete = delivery.batches.filter((batch) => batch.expected > 0 && batch.received === batch.expected).length;
    parts.push(
      complete === broadcasts
        ? `${broadcasts === 1 ? 'the broadcast' : `all ${counted(broadcasts, 'broadcast')}`} reached ${everybody}`
        : `${integer(complete)} of ${counted(broadcasts, 'broadcast')} reached ${everybody} (${percentOf(received, expected)})`,
    );
  }
  const tail = oneWayTail(times);
  if (tail !== null) parts.push(tail);
  const ofClients = result.messages && messageHeadline(result.messages);
  if (ofClients) parts.push(ofClients);
  const absent = result.memory.overTime ? null : absentHeadline(result);
  if (absent !== null) parts.push(absent);
  return parts.join(DOT);
}

/** How long matters where it is all that was done with them. */
function heldHeadline(result: Result): string {
  const server = serverName(result);
  const by = server === null ? '' : ` by ${server}`;
  const passing = comesAndGoes(result);
  if (passing !== null) return passing + by;
  const held = `${counted(heldOf(result.connections), 'connection')} held${by}`;
  const seconds = result.absent.delivery === undefined ? null : heldSeconds(result);
  return seconds === null ? held : `${held} for ${integer(seconds)} s`;
}

function reasons({ verdict }: Result, width: number): string[] {
  return verdict.reasons.flatMap(({ code, message, fix }) => [
    ...wrap(`${INDENT}${code}: ${message}`, width, `${INDENT}${INDENT}`),
    ...(fix === undefined ? [] : wrap(`${INDENT}${INDENT}fix: ${fix}`, width, `${INDENT}${INDENT}${INDENT}`)),
  ]);
}

/** Layers that were not measured, by reason, and the units. */
function footer(result: Result, width: number): string[] {
  const layers = result.absent.memory === undefined ? Object.entries(result.memory.absent) : [];
  const byReason = Map.groupBy(layers, ([, reason]) => reason);
  const absent = [...byReason].map(
    ([reason, layers]) => `Not measured: ${layers.map(([layer]) => layerTitle(result, layer)).join(', ')} (${reason}).`,
  );
  return [...absent, 'KB and MB are 1,024 and 1,048,576 bytes.'].flatMap((note) => wrap(note, width, INDENT));
}
