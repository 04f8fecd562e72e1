/** Reads the result document of a run, which can come from another version of the program. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { formatPath } from '../protocol/base/problems.ts';
import { readUntrustedJson } from '../protocol/base/readable-size.ts';
import { CapacityError } from '../protocol/codes/errors.ts';
import { type Result, resultSchema } from '../protocol/result/result.ts';

/**
 * Maximum number of problems in an error message. The kind of the document is checked first, because a document of
 * another kind would have a problem for every key.
 */
const PROBLEMS_SHOWN = 5;

/**
 * Reads the result of a run.
 * @param path path of a result.json, or of the folder of a run
 * @throws CapacityError FILE_UNREADABLE; the message names the file and any wrong keys
 */
export function readResult(path: string): Result {
  let file = path;
  try {
    if (statSync(path).isDirectory()) file = join(path, 'result.json');
    return parseResult(readUntrustedJson(file), file);
  } catch (cause) {
    if (cause instanceof CapacityError) throw cause;
    const [message, fix] =
      cause instanceof SyntaxError
        ? [`${file} is not complete JSON`, 'copy it again from the folder of its run, or repeat the run']
        : [`cannot read ${file}`, 'name a result.json or the folder of a run, such as results/latest'];
    throw new CapacityError('FILE_UNREADABLE', message, fix, { cause });
  }
}

/** @param name name of the document for error messages */
function parseResult(document: unknown, name: string): Result {
  const parsed = resultSchema.safeParse(document);
  if (parsed.success) return parsed.data;
  throw new CapacityError(
    'FILE_UNREADABLE',
    `${name} is not a result document of this version:\n${listed(parsed.error.issues)}`,
    'name the result.json of a run; if another version wrote it, read it with that version',
  );
}

function listed(issues: z.core.$ZodIssue[]): string {
  const lines = issues.flatMap((issue) => {
    const path = issue.path as (string | number)[];
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => `${formatPath([...path, key])}: unknown`);
    return [`${formatPath(path) || 'the document'}: ${issue.message.replace(/^Invalid input: /, '')}`];
  });
  const more = lines.length - PROBLEMS_SHOWN;
  return [...lines.slice(0, PROBLEMS_SHOWN), ...(more > 0 ? [`and ${more} more`] : [])]
    .map((line) => `  ${line}`)
    .join('\n');
}
