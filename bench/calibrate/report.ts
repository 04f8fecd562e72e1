/** The calibration as a page of the documentation. */
import { decimals } from '../../report/format.ts';
import { type Machine, machineLines } from '../machine.ts';
import { cells, type Section, TABLE_HEAD } from './comparison.ts';

export interface Calibration {
  startedAt: string;
  command: string;
  machine: Machine;
  /** Load average of the minute before. */
  load: number;
  sections: (Section & { attempts: number })[];
}

export function markdown({ startedAt, command, machine, load, sections }: Calibration): string {
  return [
    '# Calibration',
    '',
    'Can the figures be trusted? This page measures servers whose true values are known, with the same code as every run:',
    'the fleet and its ledger, the memory readings, the regression and the figures of the result document. The',
    '[method](./method.md) defines each figure.',
    '',
    `This page was written by \`${command}\`. The command repeats all measurements and ends with exit code 1 if a`,
    'bound is missed. A part that misses one is measured up to three times, because everything else that runs on the',
    'machine affects its times.',
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
