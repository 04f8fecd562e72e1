import { readMeasuredStudies, studyPage } from './page.ts';

export default {
  watch: ['./*/study.json', './*/about.md'],
  paths: () =>
    readMeasuredStudies().map((measured) => ({ params: { study: measured.study.name }, content: studyPage(measured) })),
};
