/** Results of the server bench: one row for each setting, and how it differs from the defaults. */
import { decimals, integer } from '../../report/text/format.ts';
import { type Machine, machineLines } from '../machine.ts';
import { type Spread, spreadOf } from '../spread.ts';
import type { Measured } from './measure.ts';
import { DEFAULTS } from './variants.ts';

/** One pass through all settings, without those that failed. */
export type Round = Record<string, Measured>;

export interface ServerReport {
  startedAt: string;
  command: string;
  connections: number;
  broadcasts: number;
  bytes: number;
  machine: Machine;
  rounds: Round[];
  failed: Record<string, string>;
}

const FIGURES = {
  rssPerConnectionBytes: { title: 'RSS per connection (bytes)', digits: 0 },
  heapPerConnectionBytes: { title: 'heap per connection (bytes)', digits: 0 },
  cpuPerConnectionUs: { title: 'CPU per connection (µs)', digits: 0 },
  cpuPerMessageUs: { title: 'CPU per message (µs)', digits: 2 },
  cpuPerPingUs: { title: 'CPU per ping (µs)', digits: 0 },
} as const;
type FigureName = keyof typeof FIGURES;
const figureNames = Object.keys(FIGURES) as FigureName[];

export const tableHead = ['', ...figureNames.map((name) => FIGURES[name].title), 'heap against defaults'];

export function tableRows(rounds: Round[]): string[][] {
  const names = [...new Set(rounds.flatMap((round) => Object.keys(round)))];
  return names.map((name) => [
    name,
    ...figureNames.map((figure) => withSpread(spread(rounds, name, figure), FIGURES[figure].digits)),
    againstDefaults(rounds, name),
  ]);
}

function spread(rounds: Round[], name: string, figure: FigureName): Spread | undefined {
  return spreadOf(rounds.flatMap((round) => round[name]?.[figure] ?? []));
}

/** Live heap, which varies so little that small differences show. */
function againstDefaults(rounds: Round[], name: string): string {
  const own = spread(rounds, name, 'heapPerConnectionBytes')?.median;
  const defaults = spread(rounds, DEFAULTS, 'heapPerConnectionBytes')?.median;
  if (own === undefined || defaults === undefined || name === DEFAULTS) return '';
  return `${own >= defaults ? '+' : ''}${integer(own - defaults)}`;
}

function withSpread(figure: Spread | undefined, digits: number): string {
  if (figure === undefined) return '–';
  const { median, min, max } = figure;
  const middle = decimals(median, digits);
  return min === max ? middle : `${middle} (${decimals(min, digits)}–${decimals(max, digits)})`;
}

export function markdown({
  connections,
  broadcasts,
  bytes,
  machine,
  rounds,
  command,
  startedAt,
}: ServerReport): string {
  const row = (cells: string[]) => `| ${cells.join(' | ')} |`;
  return [
    `One Socket.IO worker without proxy and Redis holds up to ${integer(connections)} connections, which have joined one room and`,
    `receive ${broadcasts} broadcasts of ${integer(bytes)} characters. The first row has the defaults; each other row changes one setting,`,
    'except `untuned Socket.IO`, which has no tuning.',
    rounds.length === 1
      ? 'One round, which does not show how much CPU varies between rounds: read the memory figures only.'
      : `${rounds.length} rounds: median (lowest–highest).`,
    '',
    row(tableHead),
    row(tableHead.map((_, column) => (column === 0 ? '---' : '---:'))),
    ...tableRows(rounds).map(row),
    '',
    ...machineLines(machine),
    `- Command: \`${command}\`, ${startedAt.slice(0, 10)}`,
    '',
  ].join('\n');
}
