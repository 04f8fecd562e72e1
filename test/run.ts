/**
 * Runs test files as `node --test` does, and those that failed once more, each by itself.
 *
 * Our tests start real proxies, process managers and load generators, often on a machine that has other work. A pause
 * of that machine can break one of them; a fault of the product breaks it again. So the few files that failed have a
 * second attempt. What needed one is named at the end: a name that comes back is a test to mend.
 *
 *     node test/run.ts CONCURRENCY GLOB…
 */
import { relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

/** More failed files than this are no accident. */
const MAX_SECOND_ATTEMPTS = 3;

const [concurrency, ...globPatterns] = process.argv.slice(2);

const failed = await failedFiles({ globPatterns, concurrency: Number(concurrency) });
if (failed.length > MAX_SECOND_ATTEMPTS) fail(failed, 'failed');
if (failed.length > 0) {
  const again = await failedFiles({ files: failed, concurrency: 1 });
  if (again.length > 0) fail(again, 'failed twice');
  console.log(`Failed once, passed at the second attempt: ${names(failed)}`);
}

/** @returns paths of the files in which a test failed, or which did not run to their end */
async function failedFiles(options: Parameters<typeof run>[0]): Promise<string[]> {
  const files = new Set<string>();
  let whole: { success: boolean; counts: { tests: number } } | undefined;
  const stream = run(options);
  stream.on('test:summary', (summary) => {
    if (summary.file === undefined) whole = summary;
    else if (!summary.success) files.add(summary.file);
  });
  // A file that did not run to its end has no summary, but stands for a test. (A test's `file` can be a helper's.)
  stream.on('test:fail', ({ file, name }) => {
    if (file !== undefined && file === name) files.add(file);
  });
  for await (const text of stream.compose(spec)) process.stdout.write(text);
  if (!whole || whole.counts.tests === 0) fail(globPatterns, 'no test found in');
  if (!whole.success && files.size === 0) fail(globPatterns, 'failed');
  return [...files];
}

function fail(files: string[], what: string): never {
  console.error(`${what}: ${names(files)}`);
  process.exit(1);
}

function names(files: string[]): string {
  return files.map((file) => relative(process.cwd(), file)).join(', ');
}
