/** The calibration as a page of the documentation. */
import { decimals } from '../../report/format.ts';
import { type Machine, machineLines } from '../machine.ts';
import { cells, type Section, TABLE_HEAD } from './comparison.ts';

export interface Calibration {
  startedAt: string;
  command: string;
  machine: Machine;
  /** Processes that wanted to run, in the minute before. */
  load: number;
  sections: (Section & { attempts: number })[];
}

export function markdown({ startedAt, command, machine, load, sections }: Calibration): string {
  return [
    '# Calibration',
    '',
    'Can the figures be trusted? Here servers whose truth is known are measured with the code that measures everything',
    'else: the fleet and its ledger, the readings, the regression and the figures of the result document. What each',
    'figure means is in the [method](./method.md).',
    '',
    `This page was written by \`${command}\`, which measures it all again and ends with exit code 1 when a bound is`,
    'missed. A part that misses one is measured up to three times, since whatever else runs on the machine is in every',
    'time that is measured there.',
    '',
    ...machineLines(machine),
    `- Date: ${startedAt.slice(0, 10)}; load average before: ${decimals(load, 2)}`,
    '',
    ...sections.flatMap(sectionLines),
  ].join('\n');
}

function sectionLines({ title, text, rows, attempts }: Calibration['sections'][number]): string[] {
  return [
    `## ${title}`,
    '',
    attempts > 1 ? `${text} (Attempt ${attempts}.)` : text,
    '',
    `| ${TABLE_HEAD.join(' | ')} |`,
    '| :-- | --: | --: | --: | :-- | :-- |',
    ...rows.map((row) => `| ${cells(row).join(' | ')} |`),
    '',
  ];
}
