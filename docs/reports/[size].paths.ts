import { readReports, reportPage } from './reports.ts';

export default {
  watch: ['./*/result.json'],
  paths: () => readReports().map((report) => ({ params: { size: report.size }, content: reportPage(report) })),
};
