/** The overview of the reports: a row for each run on the site. */
import { isUsable } from '../../report/figures/measured-figures.ts';
import { figureCell, figureTitle } from '../figures.ts';
import { readReports } from './reports.ts';

const FIGURES = [
  ...['connections.achievedRatePerSec', 'memory.perConnection.bytes', 'delivery.coverage', 'latency.completionMs.p50'],
];

export declare const data: { head: string[]; rows: { size: string; title: string; cells: string[] }[] };

export default {
  watch: ['./*/result.json'],
  load: (): typeof data => ({
    head: ['Run', 'Verdict', ...FIGURES.map(figureTitle), 'Machine'],
    rows: readReports().map(({ size, title, result }) => {
      const { verdict, answer } = result;
      const figures = FIGURES.map((path) => (isUsable(result) ? figureCell([result], path) : '–'));
      return { size, title, cells: [verdict.status, ...figures, answer.machine] };
    }),
  }),
};
