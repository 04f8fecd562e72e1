/** A measured study, made from the results of its runs. */
import type { MeasuredStudy } from '../../docs/studies/page.ts';
import { studySchema } from '../../protocol/documents/study-schema.ts';
import { combinationLabel, type StudyRun, summarizeStudy } from '../../report/study/summarize.ts';

const STARTED_AT = '2026-01-02T03:04:05.000Z';

type Plan = MeasuredStudy['study']['plan'];

/** @param runs runs of the study; a run without a result is a refused run */
export function measuredStudy(
  name: string,
  plan: Pick<Plan, 'scenario' | 'vary'> & Partial<Plan>,
  runs: StudyRun[],
): MeasuredStudy {
  const fullPlan: Plan = { servers: {}, except: [], repeat: 1, seed: 1, ...plan };
  const study = studySchema.parse({
    schemaVersion: 2,
    name,
    title: 'What does it cost?',
    plan: fullPlan,
    scenarioHash: 'abc',
    startedAt: STARTED_AT,
    planned: runs.length,
    runs: runs.map(({ levels, result }, index) => ({
      number: index + 1,
      block: runs.slice(0, index + 1).filter((run) => combinationLabel(run.levels) === combinationLabel(levels)).length,
      levels,
      startedAt: STARTED_AT,
      exitCode: result ? 0 : 2,
      seconds: 60,
      result: result ? `runs/${index + 1}/result.json` : null,
      status: result ? 'VALID' : null,
      problem: result ? null : 'NOT_INSTALLED: it is not installed (exit code 2)',
    })),
    ...summarizeStudy(fullPlan, runs),
  });
  return { study, runs };
}
