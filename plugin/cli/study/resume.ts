/** What an earlier start of the same study has left. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Plan, type Study, type StudyRun, studySchema } from '../../../protocol/documents/study.ts';
import { CapacityError } from '../../../protocol/errors.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { readResult } from '../../../report/read.ts';
import type { StudyFile } from './study-file.ts';

export const STUDY = 'study.json';

interface Earlier {
  /** Undefined if this is the first start. */
  startedAt: string | undefined;
  /** By number. */
  runs: Map<number, { run: StudyRun; result: Result | undefined }>;
}

/**
 * Runs whose result is no longer there do not count.
 * @throws CapacityError STUDY_CHANGED, since runs of two different studies cannot be compared; STUDY_UNREADABLE
 */
export function earlierRuns(folder: string, file: StudyFile): Earlier {
  const path = join(folder, STUDY);
  if (!existsSync(path)) return { startedAt: undefined, runs: new Map() };
  const study = parse(path);
  const changes = changesOf(study, file);
  if (changes.length > 0) {
    throw new CapacityError(
      'STUDY_CHANGED',
      `the runs in ${folder} are of another study:\n${changes.map((change) => `  ${change}`).join('\n')}`,
      'undo the change, or give the new study a folder of its own: --results <folder>',
    );
  }
  const there = study.runs.filter(({ result }) => result === null || existsSync(join(folder, result)));
  return {
    startedAt: study.startedAt,
    runs: new Map(
      there.map((run) => [
        run.number,
        { run, result: run.result === null ? undefined : readResult(join(folder, run.result)) },
      ]),
    ),
  };
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
  if (before.plan.scenario === after.plan.scenario && before.scenarioHash !== after.scenarioHash) {
    changes.push(`the text of ${after.plan.scenario} has changed`);
  }
  // The order of the runs depends on that of the names.
  const names = (plan: Plan) => Object.keys(plan.vary).join(', ');
  if (changes.length === 0 && names(before.plan) !== names(after.plan)) {
    changes.push(`the order in vary: was ${names(before.plan)}, is ${names(after.plan)}`);
  }
  return changes;
}

function flat({ vary, servers, ...others }: Plan): Map<string, string> {
  const entries = [
    ...Object.entries(others),
    ...Object.entries(servers).map(([name, server]) => [`servers.${name}`, server]),
    ...Object.entries(vary).map(([name, levels]) => [`vary.${name}`, levels]),
  ];
  return new Map(entries.map(([key, value]) => [String(key), JSON.stringify(value)]));
}

function parse(path: string): Study {
  try {
    return studySchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (cause) {
    const fix = 'restore the file, or start anew in another folder: --results <folder>';
    throw new CapacityError('STUDY_UNREADABLE', `${path} is not a valid study.json`, fix, { cause });
  }
}
