/**
 * Runs a bench that measures variants in turn, round by round. Writes its table, its files, and its section in the
 * documentation.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { machineSharesBetween } from '../plugin/samplers/machine/cpu-shares.ts';
import { MachineTime } from '../plugin/samplers/machine/machine-time.ts';
import type { MachineShares } from '../protocol/result/machine-schema.ts';
import { median } from '../report/statistics/statistics.ts';
import { decimalsText } from '../report/text/format.ts';
import { tableLines } from '../report/text/table.ts';
import { describeMachine, machineLines } from './bench-machine.ts';

/** Measurements of a round: one for each variant, by label. Failed measurements are missing. */
export type BenchRound<M> = Record<string, M>;

export interface BenchColumn<M> {
  title: string;
  /** @param rounds rounds; the variant was measured in at least one of them */
  cell(rounds: BenchRound<M>[], variant: string): string;
}

export interface BenchRounds<M> {
  /** Name of the bench, and of its section in `docs/benchmarks.md`. */
  name: string;
  text: string[];
  variants: string[];
  columns: BenchColumn<M>[];
  /** npm packages whose versions are reported. */
  packages: string[];
  /** Versions of other programs. */
  versions?: Record<string, string>;
  measure(variant: string, round: number): Promise<M>;
  /** Processes of the bench that are not its descendants. Their CPU is not counted as that of other programs. */
  pids?: number[];
  spread?: string;
  /** Index of the column that `--check` compares with the published table. */
  checkedColumn?: number;
}

interface Options {
  command: string;
  signal: AbortSignal;
  repeat: number;
  publish: boolean;
  check?: boolean;
}

/** Maximum ratio to the published figure that `--check` accepts. */
const MAX_INCREASE = 1.1;
const PAGE = join('docs', 'benchmarks.md');

/**
 * Runs all rounds. A variant that fails is listed with the reason.
 * @throws the reason of the signal
 * @throws Error for a failed check, and before the first round if the published rows are of another CPU
 */
export async function runRounds<M>(
  bench: BenchRounds<M>,
  { command, signal, repeat, publish, check }: Options,
): Promise<void> {
  const machine = describeMachine(bench.packages);
  // Checked first, because the rounds take minutes.
  if (check) requireSameCpu(sectionOf(readFileSync(PAGE, 'utf8'), bench.name), machine.cpu);
  const startedAt = new Date().toISOString();
  const machineTime = new MachineTime();
  const totals = () => machineTime.read([process.pid, ...(bench.pids ?? [])]);
  const first = await totals();
  let last = first;
  const sharesByMeasurement: MachineShares[] = [];
  const rounds: BenchRound<M>[] = [];
  const failures: Record<string, string> = {};
  for (let index = 0; index < repeat; index++) {
    console.log(`Round ${index + 1} of ${repeat}`);
    const round: BenchRound<M> = {};
    rounds.push(round);
    for (const variant of bench.variants) {
      process.stdout.write(`  ${variant} … `);
      try {
        round[variant] = await bench.measure(variant, index);
        console.log(`${bench.columns[0]?.title}: ${bench.columns[0]?.cell([round], variant)}`);
      } catch (error) {
        signal.throwIfAborted();
        failures[variant] = (error as Error).message;
        console.log(`failed: ${(error as Error).message}`);
      }
      const before = last;
      last = await totals();
      const shares = machineSharesBetween(before, last);
      if (shares) sharesByMeasurement.push(shares);
    }
  }
  const rows = roundsTable(bench, rounds);
  console.log(`\n${tableLines(['', ...bench.columns.map(({ title }) => title)], rows, '').join('\n')}\n`);
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
    ...Object.entries(failures).map(([variant, why]) => `Not measured: ${variant}, ${why}.\n`),
    ...machineLines(machine),
    ...othersLines(machineSharesBetween(first, last), sharesByMeasurement),
    `- Command: \`${command}\`, ${startedAt.slice(0, 10)}`,
    '',
  ].join('\n');
  const folder = join('results', `bench-${bench.name}-${startedAt.replace(/[:.]/g, '-').slice(0, 19)}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'report.md'), text);
  const result = { startedAt, command, machine, taken: sharesByMeasurement, rounds, absent: failures };
  writeFileSync(join(folder, 'result.json'), `${JSON.stringify(result, null, 2)}\n`);
  console.log(`Written to ${folder}`);
  const page = readFileSync(PAGE, 'utf8');
  const worse = check ? benchRegressions(sectionOf(page, bench.name), rows, bench.checkedColumn ?? 1) : [];
  if (worse.length > 0) throw new Error(`more than published:\n${worse.join('\n')}`);
  if (publish) writeFileSync(PAGE, replaceSection(page, bench.name, text));
}

/** @param sharesByMeasurement CPU shares during each measurement; the largest is printed */
function othersLines(whole: MachineShares | undefined, sharesByMeasurement: MachineShares[]): string[] {
  if (!whole) return [];
  const percent = (cores: number) => `${decimalsText((100 * cores) / whole.cores, 1)} %`;
  const others = ({ stealCores, othersCores }: MachineShares) => stealCores + (othersCores ?? 0);
  const programs = whole.programs.map(({ name, cores }) => `${name} ${percent(cores)}`).join(', ');
  return [
    `- Others had ${percent(others(whole))} of the CPUs, at most ${percent(Math.max(...sharesByMeasurement.map(others)))} while one row was measured: the hypervisor ${percent(whole.stealCores)}, other programs ${percent(whole.othersCores ?? 0)}${programs && ` (${programs})`}.`,
  ];
}

/** Returns a row for each variant that was measured at least once. */
export function roundsTable<M>(
  { variants, columns }: Pick<BenchRounds<M>, 'variants' | 'columns'>,
  rounds: BenchRound<M>[],
) {
  return variants
    .filter((variant) => rounds.some((round) => round[variant]))
    .map((variant) => [variant, ...columns.map(({ cell }) => cell(rounds, variant))]);
}

/** Returns the column of a figure: the median over all rounds, the lowest and the highest value. */
export function figureColumn<M>(
  title: string,
  of: (measured: M) => number,
  text: (value: number) => string,
): BenchColumn<M> {
  return { title, cell: (rounds, variant) => withSpread(variantValues(rounds, variant, of), text) };
}

export function variantValues<M>(rounds: BenchRound<M>[], variant: string, of: (measured: M) => number): number[] {
  return rounds.flatMap((round) => (round[variant] ? [of(round[variant])] : []));
}

export function withSpread(values: number[], text: (value: number) => string): string {
  const middle = median(values);
  if (middle === undefined) return '–';
  const [min, max] = [Math.min(...values), Math.max(...values)];
  return min === max ? text(middle) : `${text(middle)} (${text(min)}–${text(max)})`;
}

export function replaceSection(page: string, name: string, text: string): string {
  const section = sectionOf(page, name);
  return page.replace(`<!-- bench:${name} -->${section}`, () => `<!-- bench:${name} -->\n\n${text.trim()}\n\n`);
}

function sectionOf(page: string, name: string): string {
  const [opening, closing] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`];
  const [begin, end] = [page.indexOf(opening), page.indexOf(closing)];
  if (begin < 0 || end < begin) throw new Error(`${PAGE} has no section between ${opening} and ${closing}`);
  return page.slice(begin + opening.length, end);
}

/**
 * Multiples of the minimal client differ between CPUs, so a check needs published rows of the same CPU.
 * @throws Error if the published rows were measured on another CPU
 */
export function requireSameCpu(section: string, cpu: string): void {
  const [, publishedCpu] = /^- Machine: ([^,\n]+),/m.exec(section) ?? [];
  if (publishedCpu === cpu) return;
  throw new Error(
    `nothing to compare with: the published rows are of ${publishedCpu}, and this is ${cpu}; --publish first`,
  );
}

/**
 * @param column index of a column with numbers
 * @returns a line for each row whose number exceeds the published number by more than 10 %
 */
export function benchRegressions(section: string, rows: string[][], column: number): string[] {
  const published = section.split('\n').map((line) => line.split('|').slice(1));
  return rows.flatMap((row) => {
    const before = published.find(([variant]) => variant === row[0])?.[column] ?? '';
    const isWorse = Number.parseFloat(row[column] ?? '') > MAX_INCREASE * Number.parseFloat(before);
    return isWorse ? [`${row[0]}: ${row[column]}, published ${before}`] : [];
  });
}

function row(cells: string[]): string {
  return `|${cells.join('|')}|`;
}
