/** `npx socketio-capacity repeat` with real runs, against a server that is up. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { execa } from 'execa';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { type Study, studySchema } from '../../protocol/documents/study.ts';
import { startApp, TOKEN } from '../helpers/app.ts';
import { cli } from '../helpers/cli.ts';
import { quickScript } from '../helpers/run.ts';

const CLI = join(import.meta.dirname, '../../plugin/hook/cli.js');
const app = await startApp();
after(() => app.close());

/** In a folder of its own, a process group of its own, and without a terminal. */
function startRepeat(t: TestContext, options: object, args: string[]) {
  const cwd = mkdtempSync(join(tmpdir(), 'repeat-'));
  const script = quickScript({ target: app.url }, { control: { urls: [app.controlUrl], token: TOKEN }, ...options });
  writeFileSync(join(cwd, 'quick.yml'), JSON.stringify(script));
  const child = execa(process.execPath, [CLI, 'repeat', 'quick.yml', ...args], {
    cwd,
    detached: true,
    reject: false,
    all: true,
    timeout: 180_000,
    env: { ARTILLERY_DISABLE_TELEMETRY: 'true', NODE_OPTIONS: '', SOCKETIO_CAPACITY_HOME: join(cwd, 'home') },
  });
  t.after(async () => {
    child.kill('SIGKILL');
    await child;
    rmSync(cwd, { recursive: true, force: true });
  });
  return { cwd, child };
}

function readSeries(path: string): Study {
  return studySchema.parse(JSON.parse(readFileSync(path, 'utf8')));
}

function listing(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

describe('npx socketio-capacity repeat', () => {
  it('runs Artillery several times with its arguments, and records the spread', async (t) => {
    const { cwd, child } = startRepeat(t, { hold: 0 }, ['--times', '2', '--results', 'kept', '--', '--quiet']);
    const { exitCode, all = '', stdout } = await child;
    const path = join(cwd, /Series: (.*)$/m.exec(stdout)?.[1] ?? 'none');
    assert.match(path, /\/kept\/[\dT-]+-quick-x2\/repeat\.json$/);
    const { runs, combinations, plan } = readSeries(path);
    assert.equal(runs.length, 2, all);
    // A machine that other tests keep busy makes a run suspect, which is no fault of the series.
    for (const run of runs) assert.equal(run.exitCode, run.status === 'VALID' ? 0 : EXIT_CODES.suspect, all);
    assert.equal(exitCode, Math.max(...runs.map((run) => run.exitCode)), all);
    assert.equal(plan.repeat, 2);
    assert.deepEqual(combinations[0]?.figures['connections.peak'], {
      runs: 2,
      mean: 10,
      min: 10,
      max: 10,
      deviation: 0,
      low95: null,
      high95: null,
    });
    assert.match(stdout, /One way p50, ms +[\d.]+ +[\d.]+/);
    assert.equal(existsSync(join(cwd, 'results')), false);
    // And what it leaves is what compare reads.
    const compared = await cli(cwd, 'compare', path, join(path, '..', runs[0]?.result ?? ''));
    assert.equal(compared.code, 0, compared.stderr);
    assert.match(compared.stdout, /One way p50, ms .* no difference /);
  });

  it('does not repeat what is refused, and shares no folder with a series of the same second', async (t) => {
    const { cwd, child } = startRepeat(t, { no: 'such option' }, ['--json']);
    const other = startRepeat(t, { no: 'such option' }, ['--json', '--results', join(cwd, 'results')]);
    const [{ exitCode, stdout, stderr }, { stdout: otherStdout }] = await Promise.all([child, other.child]);
    const [study, otherStudy] = [stdout, otherStdout].map((text) => JSON.parse(text) as Study);
    assert.notEqual(study?.name, otherStudy?.name);
    assert.equal(exitCode, 2);
    assert.match(stderr, /CONFIG_INVALID: [\s\S]*no: unknown option[\s\S]*fix: /);
    assert.deepEqual(
      study?.runs.map(({ exitCode: code, result, status }) => [code, result, status]),
      [[2, null, null]],
    );
    assert.deepEqual(listing(join(cwd, 'results')), []);
  });
});
