/**
 * Writes the calibration as JSON, and as a page of the documentation. Parts can be measured again separately. `node
 * bench/calibrate/calibration-report.ts` writes the page from the JSON.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { decimalsText } from '../../report/text/format.ts';
import { type BenchMachine, machineLines } from '../bench-machine.ts';
import { type CalibrationSection, calibrationSectionSchema, summarizeComparisons } from './comparison.ts';

export const CALIBRATION_PAGE = join('docs', 'calibration.md');
export const CALIBRATION_DATA = join('docs', 'calibration.json');

const documentSchema = z.object({
  machine: z.string(),
  versions: z.string(),
  /** Sections of the calibration. `measured`: date, commit, load, and the machine if it is not that of the document. */
  sections: z.array(calibrationSectionSchema.extend({ measured: z.string() })),
});
type Calibration = z.infer<typeof documentSchema>;

export interface CalibrationTime {
  date: string;
  commit: string;
  /** Load average of the minute before the measurement. */
  load: number;
  attempts: number;
}

export function readCalibration(json: string): Calibration {
  return documentSchema.parse(JSON.parse(json));
}

/**
 * Merges new sections into the calibration.
 * @param before the existing calibration; its sections stay unless they are measured again
 * @throws Error if it was measured with other versions
 */
export function mergeCalibration(
  machine: BenchMachine,
  sections: (CalibrationSection & { when: CalibrationTime })[],
  before: Calibration | undefined,
): Calibration {
  const [thisMachine = '', versions = ''] = machineLines(machine);
  if (before && before.versions !== versions)
    throw new Error(`the calibration is of other versions (${before.versions}), now ${versions}: measure all parts`);
  const where = before?.machine ?? thisMachine;
  const elsewhere = where === thisMachine ? '' : `; on another machine: ${thisMachine.replace('- Machine: ', '')}`;
  const measuredAgain = new Map(
    sections.map(({ title, text, rows, when }) => [
      title,
      { title, text, rows, measured: measuredText(when) + elsewhere },
    ]),
  );
  const all = new Map([
    ...(before?.sections ?? []).map((section) => [section.title, section] as const),
    ...measuredAgain,
  ]);
  return { machine: where, versions, sections: [...all.values()] };
}

function measuredText({ date, commit, load, attempts }: CalibrationTime): string {
  const attempt = attempts > 1 ? `, attempt ${attempts}` : '';
  return `${date}, commit ${commit}${attempt}, load average before: ${decimalsText(load, 2)}`;
}

/** Returns JSON with one line per row, so that diffs are readable. */
export function serializeCalibration({ sections, ...rest }: Calibration): string {
  const lines = (values: object[]) => `[\n${values.map((value) => JSON.stringify(value)).join(',\n')}\n]`;
  const written = sections.map(({ rows, ...section }) =>
    JSON.stringify({ ...section, rows: [] }).replace(/\[\]\}$/, () => `${lines(rows)}}`),
  );
  return `${JSON.stringify({ ...rest, sections: [] }).replace(/\[\]\}$/, () => `[\n${written.join(',\n')}\n]}`)}\n`;
}

export function calibrationMarkdown({ machine, versions, sections }: Calibration): string {
  const bounded = sections.flatMap(({ title, rows }) =>
    summarizeComparisons(rows).map((row, index) => [index === 0 ? title : '', ...row]),
  );
  // Prints the common date and machine once. Parts with another date or machine have their own line.
  const elsewhere = /; on another machine: (.*)$/;
  const others = [...new Set(sections.flatMap(({ measured }) => elsewhere.exec(measured)?.[1] ?? []))];
  const whenOf = ({ measured }: Calibration['sections'][number]) =>
    measured
      .replace(/, load average before: [\d.]+/, '')
      .replace(elsewhere, (_, other) => `; machine ${others.indexOf(other) + 2}`);
  const [usual = ''] = [...Map.groupBy(sections, whenOf)]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([when]) => when);
  return [
    '# Calibration',
    '',
    'Are the figures right? `npm run calibrate` measures servers whose true values it knows, with the same code as every run.',
    'Each row shows the largest error among figures of one kind (of an interval: that of its middle).',
    '',
    ...tableLines(['part', 'figure', 'true value', 'measured', 'allowed', 'kept'], bounded),
    '',
    machine,
    ...others.map((other, index) => `- Machine ${index + 2}: ${other}`),
    versions,
    '',
    '`npm run calibrate -- --write` writes this page and `docs/calibration.json`, which has every row and the load average before each part.',
    'It fails if a figure misses its bound in three attempts: other programs affect times.',
    '',
    '## How each part is measured',
    '',
    `Measured ${usual}, unless a part says otherwise.`,
    '',
    ...sections.map(
      (section) => `- **${section.title}.** ${section.text}${whenOf(section) === usual ? '' : ` (${whenOf(section)})`}`,
    ),
    '',
  ].join('\n');
}

function tableLines(head: string[], rows: string[][]): string[] {
  const line = (row: string[]) => `|${row.join('|')}|`;
  return [line(head), line(head.map((_, column) => (column < 2 ? ':--' : '--:'))), ...rows.map(line)];
}

if (import.meta.main) {
  const calibration = readCalibration(readFileSync(CALIBRATION_DATA, 'utf8'));
  writeFileSync(CALIBRATION_DATA, serializeCalibration(calibration));
  writeFileSync(CALIBRATION_PAGE, calibrationMarkdown(calibration));
}
