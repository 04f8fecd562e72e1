/** The runs of a study's file. */
import { join } from 'node:path';
import type { Plan, Study } from '../../../protocol/documents/study.ts';
import type { CapacityError } from '../../../protocol/errors.ts';
import { renderHtml } from '../../../report/render/html.ts';
import { renderMarkdown } from '../../../report/render/markdown.ts';
import { studyDocument } from '../../../report/study/document.ts';
import { labelOf } from '../../../report/study/summarize.ts';
import { type PlannedSeries, plannedSeries } from '../../series/planned.ts';
import { settingsOf } from './levels.ts';
import type { StudyFile } from './study-file.ts';

/**
 * @param results where it has its folder
 * @param unmet what is missing for a combination, by its label: its runs will be holes
 */
export function studySeries(file: StudyFile, results: string, unmet: Map<string, CapacityError>): PlannedSeries {
  const { plan, scenario, folder: cwd } = file;
  return plannedSeries({
    ...file,
    kind: 'study',
    folder: join(results, `study-${file.name}`),
    endsWithFailure: false,
    commandOf: (levels) => {
      const missing = unmet.get(labelOf(levels));
      if (missing) throw missing;
      const server = plan.servers[String(levels.server)];
      return { scenario, args: [], ...settingsOf(levels), ...(server && { server: { ...server, cwd } }) };
    },
    changesSince: (earlier) => changesOf(earlier, file),
    pagesOf: (study, runs) => {
      const document = studyDocument(study, runs);
      return { 'study.md': renderMarkdown(document), 'study.html': renderHtml(document) };
    },
  });
}

/** @returns one line for each difference, such as `repeat: was 2, is 3` */
export function changesOf(
  before: Pick<Study, 'plan' | 'scenarioHash'>,
  after: Pick<StudyFile, 'plan' | 'scenarioHash'>,
): string[] {
  const [was, is] = [flat(before.plan), flat(after.plan)];
  const changes = [...new Set([...was.keys(), ...is.keys()])].flatMap((key) => {
    const [a = 'not there', b = 'not there'] = [was.get(key), is.get(key)];
    return a === b ? [] : [`${key}: was ${a}, is ${b}`];
  });
  const sameFile = before.plan.scenario === after.plan.scenario;
  const changed = sameFile && before.scenarioHash !== after.scenarioHash;
  return changed ? [...changes, `the text of ${after.plan.scenario} has changed`] : changes;
}

function flat({ vary, servers, ...others }: Plan): Map<string, string> {
  const entries = [
    ...Object.entries(others),
    ...Object.entries(servers).map(([name, server]) => [`servers.${name}`, server]),
    ...Object.entries(vary).map(([name, levels]) => [`vary.${name}`, levels]),
    // Labels have the names in this order.
    ['the order in vary', Object.keys(vary)],
  ];
  return new Map(entries.map(([key, value]) => [String(key), JSON.stringify(value)]));
}
