/** Tests the runner of a series, with a stub of Artillery and a minimal kind of series. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { z } from 'zod';
import { type NextRun, runSeries, type SeriesDefinition, type StartedRun } from '../../../plugin/series/series.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { seriesRunSchema } from '../../../protocol/documents/series-schema.ts';
import { processRef } from '../../../server/stack/state/stack-processes.ts';
import { assertEach, column, columns } from '../../helpers/columns.ts';
import { fakeArtillery } from '../../helpers/fake-artillery.ts';
import { finding } from '../../helpers/findings.ts';
import { eventually } from '../../helpers/poll.ts';

/** Stub that ends according to the environment variable END. */
const ENDINGS = `
const { END } = process.env;
if (END === 'refused') {
  refuse({ code: 'PORT_UNAVAILABLE', message: 'by another', fix: 'end it' });
}
if (END === 'prints an error') {
  console.error('PORT_UNAVAILABLE: by a flow that prints this');
  process.exit(2);
}
if (END === 'invalid error') refuse({ code: 'NO_SUCH_CODE', message: 'x', fix: 'y' });
if (END === 'crashed') process.exit(11);
if (END === 'without a result') process.exit(0);
leave((result) => {
  if (END !== 'INVALID') return;
  result.verdict = { status: END };
  result.findings = ${JSON.stringify([finding('MEMBERS_DISAGREE')])};
});
if (END === 'waits') wait();
`;

interface Key {
  end: string;
}

const schema = z.strictObject({
  startedAt: z.string(),
  end: z.string().nullable(),
  runs: z.array(seriesRunSchema.extend({ end: z.string() })),
});
type Document = z.infer<typeof schema>;
type OwnSeries = SeriesDefinition<Key, string, Document>;
type Runs = StartedRun<Key>[];

function begin(t: TestContext) {
  const { folder: root, artillery } = fakeArtillery(t, ENDINGS);
  const folder = join(root, 'own');
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const run = async (
    next: (runs: Runs, earlier: number) => NextRun<Key, string>,
    { signal = new AbortController().signal, ...others }: Partial<OwnSeries> & { signal?: AbortSignal } = {},
  ) => {
    const progress: string[] = [];
    const series: OwnSeries = {
      kind: 'own',
      folder,
      schema,
      identityOf: () => ({}),
      next,
      commandOf: ({ end }) => ({ scenario: 'a.yml', args: ['--quiet'], overrides: {}, env: { END: end } }),
      outcomeOf: ({ run: { problem, status } }) => [problem ?? status ?? ''],
      documentOf: (startedAt, runs, end) => ({ startedAt, end: end ?? null, runs: runs.map((made) => made.run) }),
      reportOf: (_, runs) => {
        const answer = {
          tone: 'plain' as const,
          title: `${runs.length} runs`,
          lines: [],
          findings: [],
          causes: [],
          lead: 'lines' as const,
        };
        return { title: 'Own', subtitle: '', answer, sections: [] };
      },
      ...others,
    };
    const made = await runSeries(series, { artillery, signal, print: (text) => progress.push(text) });
    return { ...made, progress: progress.join('\n') };
  };
  return { folder, read, run };
}

/** Returns a series with one run for each ending. */
function list(...ends: string[]) {
  return (runs: Runs): NextRun<Key, string> => {
    const end = ends[runs.length];
    return end === undefined ? { end: 'done' } : { key: { end }, label: end, left: ends.length - runs.length };
  };
}

it('a series rewrites its document after each run, and records how every run ended', async (t) => {
  const { folder, read, run } = begin(t);
  const seen: string[] = [];
  const next = (runs: Runs) => {
    const pages = () => ['own.md', 'own.html'].map((name) => /\d+ runs/.exec(read(name))?.[0]);
    if (runs.length > 0) seen.push([JSON.parse(read('own.json')).runs.length, ...pages()].join(', '));
    return list('VALID', 'refused', 'crashed', 'INVALID')(runs);
  };
  const { document, runs, progress } = await run(next);
  assertEach([1, 2, 3, 4], (count) => `${count}, ${count} runs, ${count} runs`, seen);
  assert.deepEqual(columns(document.runs, 'number', 'exitCode', 'status', 'problem'), {
    number: [1, 2, 3, 4],
    exitCode: [0, 2, 11, 0],
    status: ['VALID', null, null, 'INVALID'],
    problem: [
      null,
      'PORT_UNAVAILABLE: by another (exit code 2)',
      'no result (exit code 11)',
      'INVALID: MEMBERS_DISAGREE',
    ],
  });
  assert.equal(document.end, 'done');
  assertEach(runs, ({ result }) => result !== undefined, [true, false, false, true]);
  assert.ok(existsSync(join(folder, document.runs[0]?.result ?? '')));
  assert.match(read('logs/1.log'), /^arguments run --quiet a\.yml$/m);
  // The progress shows why a run was refused, and the fix.
  assert.match(
    progress,
    /^Run 2: refused; 3 runs left[\s\S]*^ {2}refused after .*\n.*PORT_UNAVAILABLE.*\n.*fix: end it$/m,
  );
});

it('does not mistake text in a log or an invalid document for the error of a run', async (t) => {
  const { folder, run } = begin(t);
  const { document, progress } = await run(list('prints an error', 'invalid error'));
  assert.deepEqual(column(document.runs, 'problem'), ['no result (exit code 2)', 'no result (exit code 2)']);
  assert.match(progress, /ends with:/);
  assert.deepEqual(
    readdirSync(join(folder, 'logs')).filter((name) => name.endsWith('.json')),
    [],
  );
});

it('the command of a series decides on the next run from the results so far', async (t) => {
  const { run } = begin(t);
  const next = (runs: Runs): NextRun<Key, string> => {
    const last = runs.at(-1)?.result?.verdict.status;
    if (last === 'VALID') return { end: 'a VALID run' };
    const key = { end: last === 'INVALID' ? 'VALID' : 'INVALID' };
    return { key, label: key.end, left: undefined };
  };
  const { document, progress } = await run(next);
  assert.deepEqual(column(document.runs, 'status'), ['INVALID', 'VALID']);
  assert.match(progress, /^Run 2: VALID$/m);
});

it('records a run that could not be started as refused, with the reason', async (t) => {
  const { read, run } = begin(t);
  const commandOf = () => {
    throw new CapacityError('NOT_INSTALLED', 'no eiows', 'npm install eiows');
  };
  const [only] = (await run(list('VALID'), { commandOf })).document.runs;
  assert.deepEqual([only?.exitCode, only?.problem], [2, 'NOT_INSTALLED: no eiows (exit code 2)']);
  assert.match(read('logs/1.log'), /fix: npm install eiows/);
});

it('counts a run without a result as refused, even if Artillery had exit code 0', async (t) => {
  const { run } = begin(t);
  const [only] = (await run(list('without a result'))).document.runs;
  assert.deepEqual([only?.exitCode, only?.problem], [2, 'no result (exit code 2)']);
});

it('a stopped series ends its current run, and resumes after it', async (t) => {
  const { folder, read, run } = begin(t);
  const abort = new AbortController();
  const waits = () => existsSync(join(folder, 'logs/2.log')) && read('logs/2.log').includes('waiting');
  const stopping = eventually('the second run', waits).then(() => abort.abort());
  const [stopped] = await Promise.all([run(list('VALID', 'waits', 'VALID'), { signal: abort.signal }), stopping]);
  assert.deepEqual([stopped.document.end, stopped.document.runs.at(-1)?.exitCode], [null, 130]);

  const earlierCounts: number[] = [];
  const resumed = await run((runs, earlier) => {
    earlierCounts.push(earlier);
    return list('VALID', 'waits', 'VALID')(runs);
  });
  assert.deepEqual([...new Set(earlierCounts)], [2]);
  assert.equal(resumed.document.startedAt, stopped.document.startedAt);
  assert.deepEqual(columns(resumed.document.runs, 'number', 'exitCode'), { number: [1, 2, 3], exitCode: [0, 130, 0] });
  // A run whose result is missing does not count, and its number is not used again.
  rmSync(join(folder, resumed.document.runs[0]?.result ?? ''));
  const restarted = await run(list('a', 'b', 'VALID'));
  assert.deepEqual(column(restarted.document.runs, 'number'), [2, 3, 4]);
});

it('a complete series starts anew, and moves the earlier runs to another folder', async (t) => {
  const { folder, run } = begin(t);
  const { document } = await run(list('VALID'));
  const { document: anew, progress } = await run(list('VALID'));
  const [, aside = ''] = /moved to (.*)\. Starting a new one/.exec(progress) ?? [];
  assert.match(basename(aside), /^\d{4}-[\dT-]+-own$/);
  assert.deepEqual(JSON.parse(readFileSync(join(aside, 'own.json'), 'utf8')), document);
  assert.ok(existsSync(join(aside, document.runs[0]?.result ?? '')));
  assert.deepEqual([anew.runs.length, existsSync(join(folder, anew.runs[0]?.result ?? ''))], [1, true]);
  assert.notEqual(anew.startedAt, document.startedAt);
  // Another end of the same runs changes the document, so the series is not complete.
  const other = await run((runs, earlier) => (earlier === 1 ? { end: 'otherwise' } : list('VALID')(runs)));
  assert.deepEqual([other.document.end, other.document.startedAt], ['otherwise', anew.startedAt]);
});

it('refuses a series folder that another process or series uses, or whose document is damaged', async (t) => {
  const { folder, run } = begin(t);
  const lock = join(folder, 'lock.json');
  await run(list('VALID'));
  assert.equal(existsSync(lock), false);
  writeFileSync(lock, JSON.stringify(processRef(process.pid)));
  await assert.rejects(run(list()), { code: 'IN_USE', message: new RegExp(`^process ${process.pid} `) });
  writeFileSync(lock, JSON.stringify({ pid: process.pid, startTime: 'of an earlier process' }));
  const identityOf = ({ runs, end }: Document) => ({ made: runs.length, vary: ['a'], ...(end && { end }) });
  const message = /another own:\n {2}made: was 1, is 0\n {2}end: was "done", is unset$/;
  await assert.rejects(run(list(), { identityOf }), { code: 'SERIES_CHANGED', message });
  assert.equal(existsSync(lock), false);
  writeFileSync(join(folder, 'own.json'), '{');
  await assert.rejects(run(list()), { code: 'FILE_UNREADABLE' });
  writeFileSync(join(folder, '..', 'file'), '');
  await assert.rejects(run(list(), { folder: join(folder, '../file/own') }), { code: 'FILE_UNWRITABLE' });
});
