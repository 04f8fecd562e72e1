/** The runs of a study, with a program in place of Artillery that does what it is told by its environment. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { startOwnServer } from '../../../plugin/cli/study/own-server.ts';
import { runStudy } from '../../../plugin/cli/study/run-study.ts';
import type { StudyFile } from '../../../plugin/cli/study/study-file.ts';
import { type StudyRun, studySchema } from '../../../protocol/documents/study.ts';
import type { CapacityError } from '../../../protocol/errors.ts';
import { freePorts } from '../../../server/stack/ports.ts';
import { processRef } from '../../../server/stack/state/processes.ts';
import { eventually } from '../../helpers/poll.ts';
import { perfectResult } from '../../helpers/results.ts';

/** Refused at 30/s; at 20/s it waits for Ctrl-C, if a file says so. */
const ARTILLERY = `
const { copyFileSync, existsSync, mkdirSync } = require('node:fs');
const { join } = require('node:path');
const { CAPACITY_RESULTS, RATE } = process.env;
console.log('arguments', ...process.argv.slice(2));
if (RATE === '30') {
  console.error('\\n  RATE_IMPOSSIBLE: not at 30/s\\n  fix: another');
  process.exit(2);
}
const folder = join(CAPACITY_RESULTS, 'run-' + process.pid);
mkdirSync(folder);
copyFileSync(join(__dirname, 'result.json'), join(folder, 'result.json'));
if (RATE === '20' && existsSync(join(__dirname, 'wait'))) {
  process.once('SIGINT', () => process.exit(130));
  setInterval(() => {}, 1000);
  console.error('waiting');
}
`;

const FILE: StudyFile = {
  name: 'rates',
  title: 'What does the rate cost?',
  plan: { scenario: '1k.yml', vary: { RATE: [10, 20, 30], hold: [1] }, servers: {}, except: [], repeat: 2, seed: 1 },
  folder: tmpdir(),
  scenario: '1k.yml',
  scenarioHash: 'abc',
};

function begin(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'study-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'artillery.cjs'), ARTILLERY);
  writeFileSync(join(folder, 'result.json'), JSON.stringify(perfectResult()));
  const run = async (signal = new AbortController().signal, file = FILE) => {
    const ended: StudyRun[] = [];
    const unmet: string[] = [];
    const artillery = join(folder, 'artillery.cjs');
    const onEnd = (one: StudyRun) => ended.push(one);
    const onStart = (_: unknown, found: Map<string, CapacityError>) => void unmet.push(...found.keys());
    const onRun = () => {};
    const outcome = await runStudy({ artillery, file, results: folder, signal, onStart, onRun, onEnd });
    return { ...outcome, ended, unmet };
  };
  return { folder, run };
}

it('runs each combination in each block, and names the level that is refused', async (t) => {
  const { run } = begin(t);
  const { folder, study, ended } = await run();
  assert.deepEqual(
    ended.map(({ number, block }) => [number, block]),
    [1, 2, 3, 4, 5, 6].map((number) => [number, number <= 3 ? 1 : 2]),
  );
  const problems = ended.filter(({ levels }) => levels.RATE === 30).map(({ problem }) => problem);
  assert.deepEqual(problems, Array(2).fill('RATE_IMPOSSIBLE: not at 30/s (exit code 2)'));
  assert.deepEqual(
    study.combinations.map(({ levels, usable }) => [levels.RATE, usable]),
    [
      [10, 2],
      [20, 2],
      [30, 0],
    ],
  );
  assert.deepEqual(studySchema.parse(JSON.parse(readFileSync(join(folder, 'study.json'), 'utf8'))), study);
  assert.match(readFileSync(join(folder, 'logs/1.log'), 'utf8'), /^arguments run --overrides {.*"hold":1.*} 1k\.yml$/m);
  for (const text of ['study.md', 'study.html'].map((name) => readFileSync(join(folder, name), 'utf8'))) {
    assert.match(text, /RATE=30, hold=1: figures from 0 of 2 runs/);
  }
});

it('ends the run under way when it is stopped, and later makes only the runs that are missing', async (t) => {
  const { folder, run } = begin(t);
  writeFileSync(join(folder, 'wait'), '');
  const abort = new AbortController();
  const logs = join(folder, 'study-rates/logs');
  const waits = () =>
    existsSync(logs) && readdirSync(logs).some((log) => readFileSync(join(logs, log), 'utf8').includes('waiting'));
  const stopping = eventually('a run that waits for Ctrl-C', waits).then(() => abort.abort());
  const [stopped] = await Promise.all([run(abort.signal), stopping]);
  assert.equal(stopped.ended.at(-1)?.exitCode, 130);
  assert.ok(stopped.ended.length <= 3);

  rmSync(join(folder, 'wait'));
  const measured = stopped.ended.filter(({ exitCode }) => exitCode === 0).map(({ number }) => number);
  const resumed = await run();
  const made = resumed.ended.map(({ number }) => number);
  assert.deepEqual([...measured, ...made].sort(), [1, 2, 3, 4, 5, 6]);
  assert.equal(resumed.study.startedAt, stopped.study.startedAt);
  assert.deepEqual(
    resumed.study.combinations.map(({ usable }) => usable),
    [2, 2, 0],
  );
  // Only what was refused is tried once more.
  const { ended, study } = await run();
  assert.deepEqual(new Set(ended.map(({ levels }) => levels.RATE)), new Set([30]));
  assert.equal(study.runs.length, 6);
});

it('says before the first run which levels lack a package, and names each as a hole', async (t) => {
  const { folder: cwd, run } = begin(t);
  const vary = { CAPACITY_WEBSOCKETS: ['ws', 'eiows', 'plain-ws'], CAPACITY_MODULES: [cwd] };
  const file = { ...FILE, plan: { ...FILE.plan, vary, repeat: 1 } };
  const { unmet, study, folder } = await run(undefined, file);
  assert.deepEqual(unmet, [`CAPACITY_WEBSOCKETS=eiows, CAPACITY_MODULES=${cwd}`]);
  assert.deepEqual(
    study.combinations.map(({ usable }) => usable),
    [1, 0, 1],
  );
  const hole = study.runs.find(({ levels }) => levels.CAPACITY_WEBSOCKETS === 'eiows');
  assert.match(hole?.problem ?? '', /^PACKAGE_MISSING: eiows is not installed in .* \(exit code 2\)$/);
  assert.match(readFileSync(join(folder, `logs/${hole?.number}.log`), 'utf8'), /fix: .*npm install eiows@/);
});

it('is refused while another process works on it, and not after that has ended', async (t) => {
  const { folder, run } = begin(t);
  await run();
  const lock = join(folder, 'study-rates/study.lock');
  assert.equal(existsSync(lock), false);
  writeFileSync(lock, JSON.stringify(processRef(process.pid)));
  await assert.rejects(run(), { code: 'STUDY_RUNNING', message: new RegExp(`^process ${process.pid} `) });
  writeFileSync(lock, JSON.stringify({ pid: process.pid, startTime: 'of an earlier process' }));
  await run();
  assert.equal(existsSync(lock), false);
});

describe('a server that the study starts', () => {
  const SERVER = `
const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
console.log('child', child.pid, process.env.GREETING);
require('node:http').createServer((_, response) => response.end()).listen(process.env.PORT, '127.0.0.1');
`;

  async function beginServer(t: TestContext, code = SERVER) {
    const cwd = mkdtempSync(join(tmpdir(), 'server-'));
    t.after(() => rmSync(cwd, { recursive: true }));
    writeFileSync(join(cwd, 'server.cjs'), code);
    const [port = 0] = await freePorts(1);
    const log = join(cwd, 'server.log');
    const start = (ready: number | string = port) =>
      startOwnServer(
        { command: [process.execPath, 'server.cjs'], ready },
        { env: { PORT: `${port}`, GREETING: 'hello' }, cwd, log, signal: AbortSignal.timeout(30_000) },
      );
    return { start, port, log };
  }

  it('answers before the run, and is gone after it with everything that it has started', async (t) => {
    const { start, port, log } = await beginServer(t);
    const server = await start(`http://127.0.0.1:${port}/`);
    const [, child] = /^child (\d+) hello$/m.exec(readFileSync(log, 'utf8')) ?? [];
    assert.ok(processRef(server.pid) && processRef(Number(child)));
    await assert.rejects(start(), { code: 'PORT_TAKEN' });
    await Promise.all([server.close(), server.close()]);
    assert.equal(processRef(server.pid) ?? processRef(Number(child)), undefined);
    assert.ok(server.hasEnded());
  });

  it('is reported with the end of its log if it does not start', async (t) => {
    const { start } = await beginServer(t, 'throw new Error("no configuration")');
    const message = /has ended: .*exit code 1.*no configuration/s;
    await assert.rejects(start(), { code: 'STUDY_SERVER_FAILED', message });
  });
});
