/**
 * Reads and writes the file of baselines, such as `capacity-baseline.json`. A baseline is a saved result with which
 * later results are compared, for example in CI.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { formatProblems, problemsOfZodError } from '../../protocol/base/problems.ts';
import { readUntrustedJson } from '../../protocol/base/readable-size.ts';
import { ownProperty } from '../../protocol/base/sum-counts.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { type Result, resultSchema } from '../../protocol/result/result.ts';
import { recordOf } from '../../protocol/result/shared-schemas.ts';
import { decisiveFindings } from '../../report/answer/answer.ts';
import { outcomeText } from '../../report/answer/outcome.ts';
import type { RunSet } from '../../report/compare/compare.ts';
import { isUsable } from '../../report/figures/measured-figures.ts';
import { replaceFileAtomically } from '../run/folder/run-files.ts';
import { COMMAND_LINE_PREFIX, invalidOptionError, writeOutputFile } from './command.ts';

/**
 * Reads a baseline.
 * @throws CapacityError BASELINE_MISSING, FILE_UNREADABLE
 */
export function readBaseline(path: string, name: string): RunSet {
  const baselines = existsSync(path) ? readFile(path).baselines : {};
  const found = ownProperty(baselines, name);
  if (found) return { name: `baseline "${name}"`, results: found.results };
  const names = Object.keys(baselines);
  const known = names.length > 0 ? `; it has ${names.join(', ')}` : '';
  throw new CapacityError(
    'BASELINE_MISSING',
    `${path} has no baseline "${name}"${known}`,
    `${COMMAND_LINE_PREFIX} compare <result> --save ${path} --name ${name}`,
  );
}

/**
 * Saves a baseline. All other baselines in the file stay unchanged.
 * @param sets list with a single set of runs; every run in it must have a usable result
 * @throws CapacityError CONFIG_INVALID, BASELINE_INVALID, FILE_UNREADABLE, FILE_UNWRITABLE
 */
export function saveBaseline(path: string, name: string, sets: RunSet[]) {
  const [{ name: source, results, lost = 0 }, ...others] = sets as [RunSet, ...RunSet[]];
  if (others.length > 0) {
    const listed = sets.map((set) => `    ${set.name}`).join('\n');
    throw invalidOptionError(`--save: a baseline has runs of one setting; name one of\n${listed}`, 'compare');
  }
  if (lost > 0 || results.length === 0 || !results.every(isUsable)) {
    throw new CapacityError('BASELINE_INVALID', `${source} ${lost > 0 ? `lacks ${lost} results` : 'is INVALID'}`);
  }
  const file: BaselineFile = existsSync(path) ? readFile(path) : { schemaVersion: 1, baselines: {} };
  file.baselines[name] = { savedAt: new Date().toISOString(), results: results.map(abridged) };
  const text = `${JSON.stringify(file, null, 1)}\n`;
  writeOutputFile(path, 'choose a file that you can write to: --save <file>', () => {
    replaceFileAtomically(path, (temporary) => writeFileSync(temporary, text));
  });
  return { file: path, name, runs: results.length, doubts: [...new Set(results.flatMap(doubtOf))] };
}

/**
 * Returns doubts about a run (reasons to distrust its result), such as `SUSPECT: passed, but … (GENERATOR_LATE: …)`.
 * Empty for a VALID run that passed.
 */
function doubtOf(result: Result): string[] {
  if (result.verdict.status === 'VALID' && result.outcome.status === 'PASSED') return [];
  const causes = decisiveFindings(result.findings).map(({ code, message }) => `${code}: ${message}`);
  return [`${outcomeText(result)}${causes.length > 0 ? ` (${causes.join('; ')})` : ''}`];
}

function readFile(path: string): BaselineFile {
  const fix = `correct it, or remove it and save the baseline again: ${COMMAND_LINE_PREFIX} compare <result> --save ${path}`;
  let content: unknown;
  try {
    content = readUntrustedJson(path);
  } catch (cause) {
    throw new CapacityError('FILE_UNREADABLE', `${path} cannot be read`, fix, { cause });
  }
  const parsed = baselineFileSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  const problems = formatProblems(problemsOfZodError(parsed.error, []));
  throw new CapacityError('FILE_UNREADABLE', `${path} is not a baseline file\n${problems}`, fix);
}

/** Schema of the file of baselines, `capacity-baseline.json`. Users keep the file under version control. */
const baselineFileSchema = z.strictObject({
  schemaVersion: z.literal(1),
  /** Baselines by name, such as `main`. */
  baselines: recordOf(
    z.strictObject({
      savedAt: z.string(),
      /** One result, or the results of several repeated runs. Their long lists are left out. */
      results: z.array(resultSchema).min(1),
    }),
  ),
});

type BaselineFile = z.infer<typeof baselineFileSchema>;

/** Returns the result without its long lists, which a comparison does not need. */
function abridged(result: Result): Result {
  return {
    ...result,
    samples: [],
    workersOverTime: [],
    connections: { ...result.connections, overTime: null },
    delivery: result.delivery && { ...result.delivery, batches: [] },
    latency: { ...result.latency, histograms: {} },
    memory: { ...result.memory, layers: [] },
  };
}
