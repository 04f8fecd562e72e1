/** `capacity-baseline.json` in the user's repository: read as a whole, and written as a whole. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { abridged, type BaselineFile, baselineFileSchema } from '../../protocol/baseline.ts';
import { CapacityError } from '../../protocol/errors.ts';
import { formatProblems, problemsOf } from '../../protocol/problems.ts';
import type { Result } from '../../protocol/result.ts';

/**
 * @returns the results that the name stands for
 * @throws CapacityError BASELINE_MISSING, BASELINE_UNREADABLE
 */
export function readBaseline(path: string, name: string): Result[] {
  const baselines = existsSync(path) ? readFile(path).baselines : {};
  const found = baselines[name];
  if (found) return found.results;
  const names = Object.keys(baselines);
  const known = names.length > 0 ? `; there is ${names.join(', ')}` : '';
  throw new CapacityError(
    'BASELINE_MISSING',
    `${path} has no baseline "${name}"${known}`,
    `npx socketio-capacity baseline save <result> --name ${name}`,
  );
}

/**
 * Others in the file stay as they are.
 * @throws CapacityError BASELINE_UNREADABLE, BASELINE_UNWRITABLE
 */
export function writeBaseline(path: string, name: string, results: Result[]): void {
  const file: BaselineFile = existsSync(path) ? readFile(path) : { schemaVersion: 1, baselines: {} };
  file.baselines[name] = { savedAt: new Date().toISOString(), results: results.map(abridged) };
  const temporary = `${path}.${process.pid}`;
  try {
    writeFileSync(temporary, `${JSON.stringify(file, null, 1)}\n`);
    renameSync(temporary, path);
  } catch (cause) {
    const fix = 'choose a file that you may write: --file <path>';
    throw new CapacityError('BASELINE_UNWRITABLE', `cannot write ${path}`, fix, { cause });
  }
}

function readFile(path: string): BaselineFile {
  const fix = `correct it, or remove it and save anew: npx socketio-capacity baseline save <result>`;
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new CapacityError('BASELINE_UNREADABLE', `${path} is no JSON`, fix, { cause });
  }
  const parsed = baselineFileSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  const problems = formatProblems(problemsOf(parsed.error, [], []));
  throw new CapacityError('BASELINE_UNREADABLE', `${path} is no file of baselines\n${problems}`, fix);
}
