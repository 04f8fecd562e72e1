/** The calibration as a page of the documentation. Parts can be measured again, each by itself. */
import { decimals } from '../../report/text/format.ts';
import { type Machine, machineLines } from '../machine.ts';
import { cells, type Section, TABLE_HEAD } from './comparison.ts';

export interface Calibration {
  machine: Machine;
  sections: (Section & { attempts: number; measured: Measured })[];
}

/** When a section was measured. */
export interface Measured {
  date: string;
  commit: string;
  /** Load average of the minute before. */
  load: number;
}

/**
 * @param before the page until now: its sections stay, unless they were measured again; what was measured on another machine
 *   than the page's says on which
 * @throws Error if that page is of other versions
 */
export function markdown({ machine, sections }: Calibration, before: string | undefined): string {
  const [ofMachine = '', ofVersions = ''] = machineLines(machine);
  const [head = '', ...kept] = before?.split(/^(?=## )/m) ?? [];
  if (kept.length > 0 && !head.includes(ofVersions)) {
    throw new Error('the page is of other versions: measure all parts');
  }
  const ofPage = kept.length > 0 ? (/^- Machine: .*$/m.exec(head)?.[0] ?? ofMachine) : ofMachine;
  const where = ofPage === ofMachine ? '' : `; on another machine: ${ofMachine.replace('- Machine: ', '')}`;
  const again = new Map(sections.map((section) => [`## ${section.title}`, sectionLines(section, where).join('\n')]));
  const all = kept.map((section) => take(again, section.slice(0, section.indexOf('\n'))) ?? section);
  return [
    '# Calibration',
    '',
    'Can the figures be trusted? This page measures servers whose true values are known, with the same code as every run:',
    'the fleet and its ledger, the memory readings, the regression and the figures of the result document. The',
    '[method](./method.md) defines each figure.',
    '',
    'This page was written by `npm run calibrate -- --write`, which ends with exit code 1 if a bound is missed. A part that',
    'misses one is measured up to three times, because everything else that runs on the machine affects its times. Each',
    'section says when it was measured: `--only` repeats a part.',
    '',
    ofPage,
    ofVersions,
    '',
    `${[...all, ...again.values()].join('').trimEnd()}\n`,
  ].join('\n');
}

function take(sections: Map<string, string>, title: string): string | undefined {
  const found = sections.get(title);
  sections.delete(title);
  return found;
}

/** @param where it was measured, if not on the machine of the page */
function sectionLines(
  { title, text, rows, attempts, measured }: Calibration['sections'][number],
  where: string,
): string[] {
  const { date, commit, load } = measured;
  return [
    `## ${title}`,
    '',
    text,
    '',
    `| ${TABLE_HEAD.join(' | ')} |`,
    '| :-- | --: | --: | --: | :-- | :-- |',
    ...rows.map((row) => `| ${cells(row).join(' | ')} |`),
    '',
    `Measured on ${date} at commit ${commit}${attempts > 1 ? `, attempt ${attempts}` : ''}; load average before: ${decimals(load, 2)}${where}.`,
    '',
    '',
  ];
}
