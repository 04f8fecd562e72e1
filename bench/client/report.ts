/** Results of the client bench: one row for each generator, each figure also as a multiple of the floor's. */
import { decimals, integer, kilobytes } from '../../report/text/format.ts';
import { barPanels } from '../chart.ts';
import { type Machine, machineLines } from '../machine.ts';
import { type Spread, spreadOf } from '../spread.ts';
import type { Measured } from './measure.ts';

/** One pass through all generators, without those that failed. */
export type Round = Record<string, Measured>;

export interface ClientReport {
  startedAt: string;
  command: string;
  tls: boolean;
  connections: number;
  ratePerSec: number;
  broadcasts: number;
  bytes: number;
  machine: Machine;
  /** The system's load average of the minute before: what other programs did. */
  loadBefore: number;
  rounds: Round[];
  /** Generators that were left out or failed, and why. */
  absent: Record<string, string>;
  rows: Row[];
}

export interface Row {
  name: string;
  label: string;
  figures: Record<FigureName, Figure>;
}

export interface Figure extends Spread {
  /** Relative to the floor of the same round, as rounds differ more than generators within one. */
  timesFloor: Spread | undefined;
}

const FIGURES = {
  cpuPerConnectionUs: { title: 'CPU per connection', unit: 'µs', text: (value: number) => integer(value) },
  cpuPerMessageUs: { title: 'CPU per message', unit: 'µs', text: (value: number) => decimals(value, 2) },
  memoryPerConnectionBytes: { title: 'memory per connection', unit: 'KB', text: kilobytes },
} as const;
type FigureName = keyof typeof FIGURES;
const figureNames = Object.keys(FIGURES) as FigureName[];

const FLOOR = 'floor';
/** Without TLS, the floor has 24 bytes per connection, less than the kernel rounds: a multiple would be meaningless. */
function hasMultiple(name: FigureName, tls: boolean): boolean {
  return tls || name !== 'memoryPerConnectionBytes';
}

/** @returns a row for each generator with at least one measurement */
export function rowsOf(rounds: Round[], generators: { name: string; label: string }[], tls: boolean): Row[] {
  return generators
    .filter(({ name }) => rounds.some((round) => round[name]))
    .map(({ name, label }) => ({
      name,
      label,
      figures: Object.fromEntries(
        figureNames.map((figure) => [figure, figureOf(rounds, name, figure, hasMultiple(figure, tls))]),
      ) as Row['figures'],
    }));
}

function figureOf(rounds: Round[], name: string, figure: FigureName, withMultiple: boolean): Figure {
  const values = rounds.flatMap((round) => round[name]?.[figure] ?? []);
  const ratios = rounds.flatMap((round) => {
    const own = round[name]?.[figure];
    const floor = round[FLOOR]?.[figure];
    return own !== undefined && floor !== undefined && withMultiple ? own / floor : [];
  });
  return { ...(spreadOf(values) as Spread), timesFloor: spreadOf(ratios) };
}

function headOf(name: FigureName): string {
  return `${FIGURES[name].title} (${FIGURES[name].unit})`;
}

export function tableHead(tls: boolean): string[] {
  return ['', ...figureNames.flatMap((name) => [headOf(name), ...(hasMultiple(name, tls) ? ['× floor'] : [])])];
}

export function tableRows(rows: Row[], tls: boolean): string[][] {
  return rows.map(({ label, figures }) => [
    label,
    ...figureNames.flatMap((name) => {
      const { timesFloor, ...value } = figures[name];
      const text = withSpread(value, FIGURES[name].text);
      if (!hasMultiple(name, tls)) return [text];
      return [text, timesFloor ? withSpread(timesFloor, (times) => decimals(times, 2)) : '–'];
    }),
  ]);
}

function withSpread({ median, min, max }: Spread, text: (value: number) => string): string {
  return min === max ? text(median) : `${text(median)} (${text(min)}–${text(max)})`;
}

export function chart(rows: Row[]): string {
  return barPanels(
    rows.map(({ label }) => label),
    figureNames.map((name) => ({
      title: headOf(name),
      values: rows.map(({ figures }) => Math.max(0, figures[name].median)),
      format: FIGURES[name].text,
    })),
    (index) => rows[index]?.label.startsWith('socketio-capacity') === true,
  );
}

/** @returns the name of the section and of its chart */
export function sectionName({ tls }: ClientReport): string {
  return tls ? 'client-tls' : 'client';
}

/** @param chartPath of the SVG, for the link in the document */
export function markdown(report: ClientReport, chartPath: string): string {
  const { tls, connections, ratePerSec, broadcasts, bytes, rounds, absent } = report;
  const row = (cells: string[]) => `| ${cells.join(' | ')} |`;
  return [
    `Each generator in turn opens ${integer(connections)} connections at ${integer(ratePerSec)}/s to one Socket.IO worker`,
    `${tls ? 'behind nginx, which terminates TLS' : 'without a proxy'}, joins one room, and receives ${broadcasts} broadcasts of`,
    `${integer(bytes)} characters. ${rounds.length === 1 ? 'One round.' : `${rounds.length} rounds: median (lowest–highest).`}`,
    '',
    `![CPU and memory of each generator](${chartPath})`,
    '',
    row(tableHead(tls)),
    row(tableHead(tls).map((_, column) => (column === 0 ? '---' : '---:'))),
    ...tableRows(report.rows, tls).map(row),
    '',
    ...Object.entries(absent).map(([label, why]) => `Not measured: ${label}, ${why}.\n`),
    ...machineLines(report.machine),
    `- Load average of the minute before: ${decimals(report.loadBefore, 1)}. Other programs make each figure larger.`,
    `- Command: \`${report.command}\`, ${report.startedAt.slice(0, 10)}`,
    '',
  ].join('\n');
}
