/**
 * Runs test files like `node --test`, and retries some of the failed files.
 *
 * node test/run.ts CONCURRENCY PATTERN…
 *
 * Files start in the order of the patterns. The slowest should be first, so that none runs alone at the end.
 *
 * These tests start real proxies, process managers and load generators, and wait for them for a limited time. A test
 * can therefore fail because other programs use the CPUs. A failed file gets a second attempt, alone, only if other
 * programs used at least `OTHERS_SHARE` of the CPUs while it ran. The end of the output lists the file with this share.
 */
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { OtherWork } from './helpers/other-work.ts';

/** Share of this machine's CPUs that other programs and the hypervisor used. */
const OTHERS_SHARE = 0.2;
/** Maximum number of files with a second attempt. If more files fail, the cause is not chance. */
const MAX_SECOND_ATTEMPTS = 3;
/**
 * Time limit of a file. A file that still runs, for example because of a server that a failed test left, is ended and
 * listed.
 */
const LONGEST_MS = 30 * 60_000;
const TOGETHER = 'one:';

interface Failure {
  file: string;
  /** Share of the CPUs that other programs used while the file ran. */
  others: number;
}

type Others = Pick<OtherWork, 'read' | 'share'>;

/** Names of folders, by the generated file that imports the tests of the folder. */
const folders = new Map<string, string>();

/**
 * Runs tests. Exits with code 1 if a test failed.
 * @param patterns files to run. With the prefix `one:`, the files of each folder run one after the other in one
 * process, which loads their common code once. They count as a single file, also for a second attempt.
 */
export async function runTests(patterns: string[], concurrency: number, others: Others): Promise<void> {
  const files = filesOf(patterns);
  if (files.length === 0) fail('no test found in', patterns);
  const failed = await failures(files, concurrency, others);
  const disturbed = failed.filter((failure) => failure.others >= OTHERS_SHARE);
  if (disturbed.length < failed.length || failed.length > MAX_SECOND_ATTEMPTS) fail('failed', failed);
  if (failed.length === 0) return;
  const again = await failures(
    failed.map(({ file }) => file),
    1,
    others,
  );
  if (again.length > 0) fail('failed twice', again);
  console.log(`Failed once, passed at the second attempt: ${names(failed)}`);
}

/** @returns each file once; a folder that runs in one process is replaced by a generated file that imports its tests */
function filesOf(patterns: string[]): string[] {
  const generated = mkdtempSync(join(tmpdir(), 'test-'));
  process.on('exit', () => rmSync(generated, { recursive: true }));
  const known = new Set<string>();
  return patterns.flatMap((pattern) => {
    const paths = globSync(pattern.replace(TOGETHER, '')).map((path) => resolve(path));
    const files = paths.toSorted().filter((path) => !known.has(path));
    for (const path of files) known.add(path);
    if (!pattern.startsWith(TOGETHER)) return files;
    return [...Map.groupBy(files, (path) => dirname(path))].map(([folder, ofFolder]) => {
      const file = join(generated, `${folders.size}-${basename(folder)}.test.mjs`);
      writeFileSync(file, ofFolder.map((path) => `import ${JSON.stringify(path)};\n`).join(''));
      folders.set(file, folder);
      return file;
    });
  });
}

/** @returns files with a failed test, and files that did not run to their end */
async function failures(files: string[], concurrency: number, others: Others): Promise<Failure[]> {
  const failed = new Set<string>();
  const beganMs = new Map<string, number>();
  const endedMs = new Map<string, number>();
  let whole: { success: boolean; counts: { tests: number } } | undefined;
  const stream = run({ files, concurrency, signal: AbortSignal.timeout(LONGEST_MS) });
  stream.on('test:dequeue', ({ file, name }) => {
    if (file !== undefined && file === name) beganMs.set(file, performance.now());
  });
  stream.on('test:complete', ({ file }) => {
    if (file !== undefined) endedMs.set(file, performance.now());
  });
  stream.on('test:summary', (summary) => {
    if (summary.file === undefined) whole = summary;
    else if (!summary.success) failed.add(summary.file);
  });
  // Notes a file that did not run to its end. It has no summary, but is reported like a test. (The `file` of a test can
  // be that of a helper.)
  stream.on('test:fail', ({ file, name }) => {
    if (file !== undefined && file === name) failed.add(file);
  });
  for await (const text of stream.compose(spec)) process.stdout.write(text);
  await others.read();
  const nowMs = performance.now();
  const found = [...failed].map((file) => ({
    file,
    others: others.share(beganMs.get(file) ?? 0, endedMs.get(file) ?? nowMs),
  }));
  if (!whole || whole.counts.tests === 0) fail('no test found in', files);
  if (!whole.success && failed.size === 0) fail('failed', files);
  return found;
}

function fail(what: string, which: (Failure | string)[]): never {
  console.error(`${what}: ${names(which)}`);
  process.exit(1);
}

function names(which: (Failure | string)[]): string {
  return which
    .map((one) => {
      if (typeof one === 'string') return one;
      const file = relative(process.cwd(), folders.get(one.file) ?? one.file);
      return `${file} (others took ${Math.round(100 * one.others)} % of the CPUs)`;
    })
    .join(', ');
}

if (import.meta.main) {
  const [concurrency = '1', ...patterns] = process.argv.slice(2);
  // Shares a compile cache, because all these processes compile mostly the same code.
  process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../node_modules/.cache/test');
  const others = new OtherWork(process.pid);
  await others.start();
  await runTests(patterns, Number(concurrency), others);
  others.stop();
}
