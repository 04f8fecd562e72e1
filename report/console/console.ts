/** The result for a terminal: a line per question, the reasons for doubt, and last, where the eye is, the answer. */
import { styleText } from 'node:util';
import type { Result } from '../../protocol/result/result.ts';
import { outcomeOf } from '../answer/outcome.ts';
import { answerParts, outcomeTitle } from '../answer/sentence.ts';
import { layerTitle } from '../figures/layers.ts';
import { wrap } from '../text/format.ts';
import { ownServer } from '../text/place.ts';
import { generator, hosts } from './generator.ts';
import { perConnection, plateaus } from './memory.ts';
import { overTime } from './over-time.ts';
import { summaryRows } from './summary.ts';
import {
  capacity,
  clientMessages,
  connections,
  cpu,
  fault,
  latency,
  latencyByConnections,
  messages,
  type Section,
} from './tables.ts';

export interface ConsoleOptions {
  /** ANSI colours. */
  color: boolean;
  /** Columns of the terminal, for wrapping sentences and for how many columns a table gets. */
  width: number;
  /** All tables before the summary. */
  verbose?: boolean;
  /** A line above the answer, such as where the files are. */
  files?: string;
}

type Paint = (style: Parameters<typeof styleText>[0], text: string) => string;

const INDENT = '  ';
const DOT = ' · ';
const STATUS_COLORS = { VALID: 'green', SUSPECT: 'yellow', INVALID: 'red' } as const;
const OUTCOME_COLORS = { PASSED: 'green', FAILED: 'red', UNKNOWN: 'red' } as const;
const PROFILES = {
  full: 'nginx, PM2 and Redis',
  embedded: 'EMBEDDED PROFILE: workers with the in-memory adapter, no proxy',
};

/** @returns lines without a trailing newline, free of escape codes unless `color` */
export function renderConsole(result: Result, options: ConsoleOptions): string {
  const { width, verbose = false, files } = options;
  const paint = painter(options);
  const lines = [paint('bold', titleOf(result)), ...summary(result, width)];
  if (verbose) lines.push(...tables(result, width, paint));
  if (files !== undefined) lines.push('', files);
  lines.push('', renderAnswer(result, options));
  return lines.join('\n');
}

/** The reasons for doubt and the answer alone. @returns as `renderConsole` */
export function renderAnswer(result: Result, options: ConsoleOptions): string {
  const { width } = options;
  const paint = painter(options);
  const { status } = result.verdict;
  const outcome = outcomeTitle(result);
  const [first = '', ...rest] = wrap(outcome, width, INDENT);
  const answer = wrap(answerParts(result).join(DOT), width, INDENT, DOT);
  const doubts = reasons(result, width);
  return [
    ...doubts,
    ...(doubts.length > 0 ? [''] : []),
    ...[first, ...rest].map((line) => paint(['bold', OUTCOME_COLORS[outcomeOf(result).status]], line)),
    ...(answer.join('') === '' ? [] : answer.map((line, index) => paint('bold', index === 0 ? INDENT + line : line))),
    `${INDENT}Measurement: ${paint(STATUS_COLORS[status], status)}${MEASUREMENT[status]}`,
  ].join('\n');
}

const MEASUREMENT = {
  VALID: ', no check raised a doubt',
  SUSPECT: ', for the reasons above',
  INVALID: ', for the reasons above',
};

function painter({ color }: ConsoleOptions): Paint {
  return (style, text) => (color ? styleText(style, text, { validateStream: false }) : text);
}

function titleOf({ run }: Result): string {
  const incomplete = run.complete ? [] : ['INCOMPLETE: the run ended early'];
  return [
    ...incomplete,
    run.scenario,
    run.profile === 'remote' ? ownServer(run) : PROFILES[run.profile],
    run.target,
    `engine ${run.engine}`,
  ].join(DOT);
}

function summary(result: Result, width: number): string[] {
  const rows = summaryRows(result);
  const indent = INDENT + ' '.repeat(2 + Math.max(...rows.map(([title]) => title.length)));
  return rows.flatMap(([title, text]) => wrap(`${(INDENT + title).padEnd(indent.length)}${text}`, width, indent));
}

function tables(result: Result, width: number, paint: Paint): string[] {
  const sections = [
    connections(result),
    fault(result),
    ...memory(result, width),
    clientMessages(result, width),
    messages(result, width),
    latency(result),
    latencyByConnections(result),
    cpu(result),
    hosts(result, width),
    generator(result),
    capacity(result),
  ].filter((section) => section !== null);
  const lines: string[] = [];
  for (const { title, lines: body, notes = [] } of sections) {
    lines.push('', paint('bold', title), ...body);
    for (const note of notes) lines.push(...wrap(INDENT + note, width, INDENT));
  }
  return [...lines, '', ...footer(result, width)];
}

function memory(result: Result, width: number): (Section | null)[] {
  if (result.memory.overTime) return overTime(result, width);
  // What a connection costs is not the question then, and there are too few plateaus to tell.
  if (result.fault) return [];
  return [plateaus(result, width), perConnection(result, width)];
}

function reasons({ verdict }: Result, width: number): string[] {
  return verdict.reasons.flatMap(({ code, message, fix }) => [
    ...wrap(`${code}: ${message}`, width, INDENT),
    ...(fix === undefined ? [] : wrap(`${INDENT}fix: ${fix}`, width, `${INDENT}${INDENT}`)),
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
