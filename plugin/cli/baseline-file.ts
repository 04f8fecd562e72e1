/** `capacity-baseline.json` in the user's repository. It is read and written as a whole. */
import { existsSync, writeFileSync } from 'node:fs';
import { readJson } from '../../protocol/bounds.ts';
import { abridged, type BaselineFile, baselineFileSchema } from '../../protocol/documents/baseline.ts';
import { CapacityError } from '../../protocol/errors.ts';
import { formatProblems, problemsOf } from '../../protocol/problems.ts';
import type { Result } from '../../protocol/result/result.ts';
import { ownValue } from '../../protocol/sum-counts.ts';
import { replace } from '../run/record/replace.ts';
import { writing } from './command.ts';

/**
 * @returns the results saved under that name
 * @throws CapacityError BASELINE_MISSING, FILE_UNREADABLE
 */
export function readBaseline(path: string, name: string): Result[] {
  const baselines = existsSync(path) ? readFile(path).baselines : {};
  const found = ownValue(baselines, name);
  if (found) return found.results;
  const names = Object.keys(baselines);
  const known = names.length > 0 ? `; it has ${names.join(', ')}` : '';
  throw new CapacityError(
    'BASELINE_MISSING',
    `${path} has no baseline "${name}"${known}`,
    `npx socketio-capacity baseline save <result> --name ${name}`,
  );
}

/**
 * Leaves the other baselines in the file unchanged.
 * @throws CapacityError FILE_UNREADABLE, FILE_UNWRITABLE
 */
export function writeBaseline(path: string, name: string, results: Result[]): void {
  const file: BaselineFile = existsSync(path) ? readFile(path) : { schemaVersion: 1, baselines: {} };
  file.baselines[name] = { savedAt: new Date().toISOString(), results: results.map(abridged) };
  const text = `${JSON.stringify(file, null, 1)}\n`;
  writing(path, 'choose a file that you can write to: --file <path>', () => {
    replace(path, (temporary) => writeFileSync(temporary, text));
  });
}

function readFile(path: string): BaselineFile {
  const fix = `correct it, or remove it and save the baseline again: npx socketio-capacity baseline save <result>`;
  let content: unknown;
  try {
    content = readJson(path);
  } catch (cause) {
    throw new CapacityError('FILE_UNREADABLE', `${path} cannot be read`, fix, { cause });
  }
  const parsed = baselineFileSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  const problems = formatProblems(problemsOf(parsed.error, []));
  throw new CapacityError('FILE_UNREADABLE', `${path} is not a baseline file\n${problems}`, fix);
}
