/** A bench that measures variants in turn, round by round: its table, its files, and its section of the documentation. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sharesBetween } from '../plugin/samplers/machine/cpu-shares.ts';
import { MachineTime } from '../plugin/samplers/machine/machine-time.ts';
import type { MachineShares } from '../protocol/result/machine-schema.ts';
import { median } from '../report/statistics/statistics.ts';
import { decimals } from '../report/text/format.ts';
import { table } from '../report/text/table.ts';
import { describeMachine, machineLines } from './bench-machine.ts';

/** One pass through all variants, by their labels, without those that failed. */
export type Round<M> = Record<string, M>;

export interface Column<M> {
  title: string;
  /** @param rounds at least one of which has measured the variant */
  cell(rounds: Round<M>[], variant: string): string;
}

export interface Rounds<M> {
  /** Names the section between two markers in `docs/benchmarks.md`. */
  name: string;
  /** What it measures, for the page. */
  text: string[];
  variants: string[];
  columns: Column<M>[];
  /** Those whose versions matter. */
  packages: string[];
  /** Versions of other programs. */
  versions?: Record<string, string>;
  measure(variant: string, round: number): Promise<M>;
  /** Processes that belong to it without being its descendants. */
  pids?: number[];
  spread?: string;
}

interface Options {
  command: string;
  signal: AbortSignal;
  repeat: number;
  publish: boolean;
}

const PAGE = join('docs', 'benchmarks.md');

/** A variant that fails is left out, with the reason. @throws the signal's reason */
export async function runRounds<M>(bench: Rounds<M>, { command, signal, repeat, publish }: Options): Promise<void> {
  const startedAt = new Date().toISOString();
  const machineTime = new MachineTime();
  const totals = () => machineTime.read([process.pid, ...(bench.pids ?? [])]);
  const first = await totals();
  let last = first;
  const taken: MachineShares[] = [];
  const rounds: Round<M>[] = [];
  const absent: Record<string, string> = {};
  for (let index = 0; index < repeat; index++) {
    console.log(`Round ${index + 1} of ${repeat}`);
    const round: Round<M> = {};
    rounds.push(round);
    for (const variant of bench.variants) {
      process.stdout.write(`  ${variant} … `);
      try {
        round[variant] = await bench.measure(variant, index);
        console.log(`${bench.columns[0]?.title}: ${bench.columns[0]?.cell([round], variant)}`);
      } catch (error) {
        signal.throwIfAborted();
        absent[variant] = (error as Error).message;
        console.log(`failed: ${(error as Error).message}`);
      }
      const before = last;
      last = await totals();
      const shares = sharesBetween(before, last);
      if (shares) taken.push(shares);
    }
  }
  const rows = tableOf(bench, rounds);
  console.log(`\n${table(['', ...bench.columns.map(({ title }) => title)], rows, '').join('\n')}\n`);
  const machine = describeMachine(bench.packages);
  Object.assign(machine.versions, bench.versions);
  const text = [
    ...bench.text,
    rounds.length === 1
      ? 'One round, which does not show how much CPU varies between rounds.'
      : `${rounds.length} rounds: median (lowest–highest)${bench.spread ?? ''}.`,
    '',
    row(['', ...bench.columns.map(({ title }) => title)]),
    row(['---', ...bench.columns.map(() => '---:')]),
    ...rows.map(row),
    '',
    ...Object.entries(absent).map(([variant, why]) => `Not measured: ${variant}, ${why}.\n`),
    ...machineLines(machine),
    ...othersLines(sharesBetween(first, last), taken),
    `- Command: \`${command}\`, ${startedAt.slice(0, 10)}`,
    '',
  ].join('\n');
  const folder = join('results', `bench-${bench.name}-${startedAt.replace(/[:.]/g, '-').slice(0, 19)}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'report.md'), text);
  const result = { startedAt, command, machine, taken, rounds, absent };
  writeFileSync(join(folder, 'result.json'), `${JSON.stringify(result, null, 2)}\n`);
  console.log(`Written to ${folder}`);
  if (publish) writeFileSync(PAGE, withSection(readFileSync(PAGE, 'utf8'), bench.name, text));
}

/** @param taken during each measurement, of which the worst is told */
function othersLines(whole: MachineShares | undefined, taken: MachineShares[]): string[] {
  if (!whole) return [];
  const percent = (cores: number) => `${decimals((100 * cores) / whole.cores, 1)} %`;
  const others = ({ stealCores, othersCores }: MachineShares) => stealCores + (othersCores ?? 0);
  const programs = whole.programs.map(({ name, cores }) => `${name} ${percent(cores)}`).join(', ');
  return [
    `- Others had ${percent(others(whole))} of the CPUs, at most ${percent(Math.max(...taken.map(others)))} while one row was measured: the hypervisor ${percent(whole.stealCores)}, other programs ${percent(whole.othersCores ?? 0)}${programs && ` (${programs})`}.`,
  ];
}

/** @returns a row for each variant with at least one measurement */
export function tableOf<M>({ variants, columns }: Pick<Rounds<M>, 'variants' | 'columns'>, rounds: Round<M>[]) {
  return variants
    .filter((variant) => rounds.some((round) => round[variant]))
    .map((variant) => [variant, ...columns.map(({ cell }) => cell(rounds, variant))]);
}

/** A column with the median of one figure over all rounds, and its lowest and highest value. */
export function figure<M>(title: string, of: (measured: M) => number, text: (value: number) => string): Column<M> {
  return { title, cell: (rounds, variant) => withSpread(valuesOf(rounds, variant, of), text) };
}

export function valuesOf<M>(rounds: Round<M>[], variant: string, of: (measured: M) => number): number[] {
  return rounds.flatMap((round) => (round[variant] ? [of(round[variant])] : []));
}

export function withSpread(values: number[], text: (value: number) => string): string {
  const middle = median(values);
  if (middle === undefined) return '–';
  const [min, max] = [Math.min(...values), Math.max(...values)];
  return min === max ? text(middle) : `${text(middle)} (${text(min)}–${text(max)})`;
}

export function withSection(page: string, name: string, text: string): string {
  const [opening, closing] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`];
  const [begin, end] = [page.indexOf(opening), page.indexOf(closing)];
  if (begin < 0 || end < begin) throw new Error(`${PAGE} has no section between ${opening} and ${closing}`);
  return `${page.slice(0, begin + opening.length)}\n\n${text.trim()}\n\n${page.slice(end)}`;
}

function row(cells: string[]): string {
  return `| ${cells.join(' | ')} |`;
}
