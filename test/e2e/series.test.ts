/**
 * Tests `npx socketio-capacity study | search` with real runs. The runs are as short as possible: without memory and
 * broadcasts.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { execa } from 'execa';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { searchSchema } from '../../protocol/documents/search-schema.ts';
import { type Study, studySchema } from '../../protocol/documents/study-schema.ts';
import { findFreePorts } from '../../server/stack/ports.ts';
import { CLI } from '../helpers/cli.ts';
import { column, columns } from '../helpers/columns.ts';
import { startPlainServer } from '../helpers/plain-server.ts';
import { eventually } from '../helpers/poll.ts';
import { hasReached, latestResult, quickScript } from '../helpers/run.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const LIMIT_MS = 180_000;

function script(target: string, options: object = {}, rate = 10) {
  const phases = [{ duration: 1, arrivalRate: rate, rampTo: rate }];
  return quickScript({ target, phases }, { warmUp: 0, hold: 0, ...options }, {}, [{ connect: {} }, { hold: true }]);
}

/**
 * Creates a folder with these files. Commands run in the folder, each in its own process group and without a terminal.
 */
function commands(t: TestContext, files: Record<string, object | string>) {
  const cwd = tempFolder(t);
  const write = (name: string, content: object | string) =>
    writeFileSync(join(cwd, name), typeof content === 'string' ? content : JSON.stringify(content));
  for (const [name, content] of Object.entries(files)) write(name, content);
  const start = (args: string[], env: Record<string, string> = {}) => {
    const child = execa(process.execPath, [CLI, ...args], {
      ...{ cwd, detached: true, reject: false, all: true, timeout: LIMIT_MS },
      env: {
        ...{ ARTILLERY_DISABLE_TELEMETRY: 'true', NODE_OPTIONS: '', SOCKETIO_CAPACITY_HOME: join(cwd, 'home') },
        ...env,
      },
    });
    t.after(() => child.kill('SIGKILL'));
    return child;
  };
  const read = (path: string) => JSON.parse(readFileSync(join(cwd, path), 'utf8'));
  return { cwd, write, start, read };
}

/** Asserts that the measurement is VALID or SUSPECT. Other tests can make it SUSPECT. */
function assertSound({ exitCode, status }: Study['runs'][number], output: string): void {
  assert.ok(status === 'VALID' || status === 'SUSPECT', output);
  assert.equal(exitCode, status === 'VALID' ? 0 : EXIT_CODES.suspect, output);
}

const SERVER = `
const { createRequire } = require('node:module');
const { Server } = createRequire(process.env.FROM)('socket.io');
new Server(Number(process.env.PORT), { cleanupEmptyChildNamespaces: true });
console.log('server', process.pid);
`;

describe('npx socketio-capacity', { concurrency: 2 }, () => {
  it('study runs a scenario several times with arguments for Artillery, and records the spread', async (t) => {
    const { url } = await startPlainServer(t);
    const { cwd, start, read } = commands(t, { 'quick.yml': script(url) });
    const args = ['quick.yml', '--times', '2', '--results', 'kept', '--', '--quiet'];
    const { exitCode, all, stdout } = await start(['study', ...args]);
    assert.match(stdout, /^Series: kept\/study-quick\/study\.json$/m, all);
    const { runs, combinations, plan } = studySchema.parse(read('kept/study-quick/study.json'));
    assert.deepEqual(plan.args, ['--quiet']);
    // A run that other programs disturbed is repeated once.
    assert.ok(plan.repeat === 2 && runs.length >= 2 && runs.length <= 4, all);
    for (const run of runs) assertSound(run, all);
    const counted = runs.filter(({ problem }) => problem === null);
    assert.equal(exitCode, Math.max(...counted.map((run) => run.exitCode)), all);
    assert.equal(/Excluded and repeated/.test(stdout), runs.length > counted.length, all);
    const { runs: count, mean, deviation } = combinations[0]?.figures['connections.peak'] ?? {};
    assert.deepEqual([count, mean, deviation], [2, 10, 0]);
    assert.equal(existsSync(join(cwd, 'results')), false);
  });

  it('study compares two scenarios, and stops if the runs of both are refused', async (t) => {
    const refused = script('http://127.0.0.1:1', { no: 'such option' });
    const { start } = commands(t, { 'a.yml': refused, 'b.yml': refused });
    const { exitCode, stdout, stderr } = await start(['study', 'a.yml', 'b.yml', '--json']);
    const { plan, runs } = JSON.parse(stdout) as Study;
    assert.equal(exitCode, EXIT_CODES.refused);
    assert.match(stderr, /CONFIG_INVALID: [\s\S]*\.no: [\s\S]*fix: /);
    assert.deepEqual(plan.vary, { scenario: ['a.yml', 'b.yml'] });
    assert.deepEqual(column(runs, 'result'), [null, null]);
  });

  it('study starts the user’s own server, stops it on Ctrl-C, resumes, and refuses a changed study', async (t) => {
    const [port = 0] = await findFreePorts(1);
    const servers = {
      chat: { command: ['node', 'server.cjs'], ready: port },
      broken: { command: ['node', 'nowhere.cjs'], ready: port },
    };
    const vary = { server: ['chat', 'broken'], PORT: [port], FROM: [import.meta.filename], warmUp: [5] };
    const study = { scenario: 'quick.yml', servers, vary, repeat: 1 };
    const { cwd, write, start, read } = commands(t, {
      'quick.yml': script(`http://127.0.0.1:${port}`),
      'server.cjs': SERVER,
      'own.yml': study,
    });
    const folder = 'results/study-own';
    const chatRun = () => {
      const { runs, combinations } = studySchema.parse(read(`${folder}/study.json`));
      const run = runs.findLast(({ levels }) => levels.server === 'chat') ?? assert.fail('no run with the chat');
      return { run, figures: combinations.find(({ levels }) => levels.server === 'chat')?.figures };
    };
    const assertServerEnded = () => {
      const log = readFileSync(join(cwd, folder, `logs/${chatRun().run.number}.server.log`), 'utf8');
      const [, pid] = /^server (\d+)$/m.exec(log) ?? [];
      assert.throws(() => process.kill(Number(pid), 0), { code: 'ESRCH' });
    };

    const stopped = start(['study', 'own.yml'], { HOLD: '60' });
    const holds = () => hasReached(latestResult(join(cwd, folder, 'runs')), 'hold');
    await eventually('the hold of the run with the chat', holds, LIMIT_MS / 2);
    process.kill(-(stopped.pid as number), 'SIGINT');
    const { exitCode: stoppedCode, all: stoppedOutput } = await stopped;
    assert.equal(stoppedCode, 130, stoppedOutput);
    assert.throws(() => process.kill(-(stopped.pid as number), 0), { code: 'ESRCH' });
    assert.equal(chatRun().run.exitCode, 130);
    assertServerEnded();

    const { exitCode, all } = await start(['study', 'own.yml'], { HOLD: '0' });
    assert.equal(exitCode, EXIT_CODES.refused, all);
    assert.match(all.replaceAll(/\s+/g, ' '), /server=broken, .*figures from 0 of 1 run; run \d: START_FAILED: /);
    const { run, figures } = chatRun();
    assertSound(run, all);
    assert.equal(figures?.['connections.peak']?.mean, 10);
    const { memory, environment } = read(`${folder}/${run.result}`);
    assert.ok(memory.peakBytes.workerPss > 10e6);
    assert.equal(environment.settings.warmUp, 5);
    assertServerEnded();
    for (const file of ['study.md', 'study.html', `logs/${run.number}.log`])
      assert.ok(existsSync(join(cwd, folder, file)), file);

    write('own.yml', { ...study, vary: { ...vary, warmUp: [4] } });
    const changed = await start(['study', 'own.yml']);
    assert.equal(changed.exitCode, EXIT_CODES.refused);
    assert.match(changed.all, /SERIES_CHANGED: .*\n {2}vary: was .*"warmUp":\[5\].*, is .*"warmUp":\[4\]/);
  });

  it('search finds the number at which a server starts to refuse connections, and reports the refusal', async (t) => {
    const limit = 60;
    const { url } = await startPlainServer(t, { limit });
    const { cwd, start, read } = commands(t, { 'full.yml': script(url, {}, limit) });
    const levels = ['--from', '63', '--factor', '1.04', '--tolerance', '10', '--times', '1', '--rest', '0'];
    const { exitCode, all } = await start(['search', 'full.yml', '--vary', 'connections', ...levels]);
    assert.equal(exitCode, 0, all);
    const folder = 'results/search-full-connections';
    const { answer, runs } = searchSchema.parse(read(`${folder}/search.json`));
    assert.deepEqual(
      columns(runs, 'level', 'outcome'),
      { level: [63, limit, 63], outcome: ['breaks', 'holds', 'breaks'] },
      all,
    );
    assert.deepEqual([answer.held, answer.broke], [limit, 63]);
    assert.match(answer.sentence, / 60 .* 63, .*full: 3 of 63 failed: namespace_refused/);
    assert.ok(all.replace(/\s+/g, ' ').includes(answer.sentence), all);
    for (const file of ['search.md', 'search.html', ...runs.map(({ number }) => `logs/${number}.log`)])
      assert.ok(existsSync(join(cwd, folder, file)), file);
  });
});
