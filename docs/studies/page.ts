/** Renders the page of a study: the report of `study`, and the text of its about.md. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Study, studySchema } from '../../protocol/documents/study-schema.ts';
import { readResult } from '../../report/read.ts';
import { sectionsHtml } from '../../report/render/html.ts';
import { markdownBullets } from '../../report/render/markdown.ts';
import { countedRuns } from '../../report/study/counted-runs.ts';
import { studyDocument } from '../../report/study/study-page.ts';
import type { StudyRun } from '../../report/study/summarize.ts';
import { inMarkdown } from '../figures.ts';

export interface MeasuredStudy {
  study: Study;
  /** Runs of the study, in the order of `study.runs`. */
  runs: StudyRun[];
}

export const STUDIES = fileURLToPath(new URL('.', import.meta.url));

/**
 * @param folder folder of a study, written by `npx socketio-capacity study` or by `add.ts`
 * @throws Error if study.json is not valid
 * @throws CapacityError of `readResult`
 */
export function readMeasuredStudy(folder: string): MeasuredStudy {
  const study = studySchema.parse(JSON.parse(readFileSync(join(folder, 'study.json'), 'utf8')));
  const runs = study.runs.map((run) => ({
    run,
    result: run.result === null ? undefined : readResult(join(folder, run.result)),
  }));
  return { study, runs: countedRuns(runs) };
}

/** Reads the studies of the site: `docs/studies/<name>/`, written by `add.ts`. */
export function readMeasuredStudies(): MeasuredStudy[] {
  return readdirSync(STUDIES)
    .filter((name) => existsSync(join(STUDIES, name, 'study.json')))
    .map((name) => readMeasuredStudy(join(STUDIES, name)));
}

/** Returns the study's title and its answers. */
export function studySummary({ study, runs }: MeasuredStudy) {
  const { name } = study;
  const [title = name] = aboutOf(name);
  return { name, title, question: study.title, answers: studyDocument(study, runs).answer.lines };
}

export function studyPage(measured: MeasuredStudy): string {
  const { study, runs } = measured;
  const { title, question, answers } = studySummary(measured);
  return [
    `# ${title}`,
    `**${question}**`,
    markdownBullets(answers),
    inMarkdown(sectionsHtml(studyDocument(study, runs))),
    aboutOf(study.name)[1] ?? '',
    '## Run it yourself',
    `\`\`\`sh\nnpx socketio-capacity study scenarios/studies/${study.name}.yml\n\`\`\``,
    `In a checkout, \`node docs/add.ts results/study-${study.name}\` puts the runs on this page.`,
  ].join('\n\n');
}

/** Returns the title and the text of about.md. */
function aboutOf(name: string): string[] {
  const path = join(STUDIES, name, 'about.md');
  return existsSync(path)
    ? readFileSync(path, 'utf8')
        .trim()
        .slice(2)
        .split(/\n\n(.*)/s)
    : [];
}
