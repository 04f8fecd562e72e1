/** The runs of a study's file. */
import { join } from 'node:path';
import { studyDocument } from '../../../report/study/document.ts';
import { type PlannedSeries, plannedSeries } from '../../series/planned.ts';
import { settingsOf } from './levels.ts';
import type { StudyFile } from './study-file.ts';

/** @param results where it has its folder */
export function studySeries(file: StudyFile, results: string): PlannedSeries {
  const { plan, scenario, folder: cwd } = file;
  return plannedSeries({
    ...file,
    kind: 'study',
    folder: join(results, `study-${file.name}`),
    endsWithFailure: false,
    commandOf: (levels) => {
      const server = plan.servers[String(levels.server)];
      const path = levels.scenario === undefined ? scenario : join(cwd, String(levels.scenario));
      return { scenario: path, args: [], ...settingsOf(levels), ...(server && { server: { ...server, cwd } }) };
    },
    reportOf: studyDocument,
  });
}
