/** A page for each size that has a result. */
import { reportPage } from './page.ts';
import { fullReport, readReports } from './reports.ts';

export default {
  watch: ['./*/result.json'],
  paths: () =>
    readReports().map(({ size, result }) => ({ params: { size }, content: reportPage(result, fullReport(size)) })),
};
