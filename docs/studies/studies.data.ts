/** The tables of the page on the studies: their figures, and ours from all reports. */

import { isUsable } from '../../report/figures/measured-figures.ts';
import type { Html } from '../../report/render/markup.ts';
import { type Report, readReports } from '../reports/reports.ts';
import { type MeasuredStudy, readMeasuredStudies } from './measured.ts';
import { linearity, overTime } from './memory-usage.ts';
import { studySummary } from './page.ts';
import { STUDY_PAGES } from './pages.ts';
import { contradictions, sideBySide } from './published-report.ts';
import { raccoonTable } from './raccoon.ts';
import { techracersTable } from './techracers.ts';

/** HTML of each. */
type Tables = Record<'sideBySide' | 'contradictions' | 'techracers' | 'linearity' | 'overTime' | 'raccoon', string>;

interface Studies extends Tables {
  /** Our own, each with its answer in a sentence and its picture as HTML. */
  own: { name: string; title: string; answer: string; picture: string }[];
}

export declare const data: Studies;

export default {
  watch: ['../reports/*/result.json', './*/study.json'],
  load: (): Studies => ({ ...studies(readReports()), own: ownStudies(readMeasuredStudies()) }),
};

/** @returns those of the list, in its order */
export function ownStudies(measured: MeasuredStudy[]): Studies['own'] {
  return Object.entries(STUDY_PAGES).flatMap(([name, page]) => {
    const found = measured.find(({ study }) => study.name === name);
    if (!found) return [];
    const { answers, picture } = studySummary(found, page);
    return [{ name, title: page.title, answer: answers[0] ?? '', picture }];
  });
}

export function studies(reports: Report[]): Tables {
  const usable = reports.filter(({ result }) => isUsable(result));
  const results = usable.filter(({ differences }) => differences.length === 0).map(({ result }) => result);
  const again = usable.filter(({ size }) => size === 'techracers').map(({ result }) => result);
  const waves = usable.filter(({ result }) => result.memory.overTime?.kind === 'waves').map(({ result }) => result);
  const markup = ({ markup }: Html) => markup;
  return {
    sideBySide: markup(sideBySide(results)),
    contradictions: markup(contradictions()),
    techracers: markup(techracersTable([...again, ...results])),
    linearity: markup(linearity(results)),
    overTime: markup(overTime(waves, results)),
    raccoon: markup(raccoonTable(usable.map(({ result }) => result))),
  };
}
