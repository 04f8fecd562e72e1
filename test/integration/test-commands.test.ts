/** The test commands: files that failed while others used the CPUs have a second attempt, and nothing else is forgiven. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { execa } from 'execa';
import { tempFolder } from '../helpers/temp-folder.ts';

const PASSES = `import { it } from 'node:test'; it('passes', () => {});`;
const FAILS = `import { it } from 'node:test'; it('fails', () => { throw new Error('again'); });`;
const FAILS_ONCE = `
  import { existsSync, writeFileSync } from 'node:fs';
  import { it } from 'node:test';
  const mark = new URL('./mark', import.meta.url);
  it('fails once', () => { if (!existsSync(mark)) { writeFileSync(mark, ''); throw new Error('once'); } });`;

const SHARE = /b\.test\.ts \(others took (\d+) % of the CPUs\)$/;

describe('the test commands', () => {
  it('give files that failed a second attempt if others took the CPUs, and name those that fail again, with the share', async (t) => {
    keepBusy(t);
    const { exitCode, all } = await runTests(t, { 'a.test.ts': FAILS_ONCE, 'b.test.ts': FAILS });
    assert.equal(exitCode, 1);
    assert.match(all, /failed twice: \S*b\.test\.ts/);
    assert.ok(Number(SHARE.exec(all)?.[1]) >= 20, all);
  });

  it('give none otherwise', async (t) => {
    const { exitCode, all } = await runTests(t, { 'a.test.ts': PASSES, 'b.test.ts': FAILS_ONCE });
    // Whatever else runs beside this test.
    const percent = Number(SHARE.exec(all)?.[1]);
    assert.equal(exitCode, percent < 20 ? 1 : 0, all);
    assert.match(all, percent < 20 ? /^failed: /m : /^Failed once, /m);
  });

  it('fail when a test that a helper defines fails, and when a file does not run to its end', async (t) => {
    const { exitCode, all } = await runTests(t, {
      'helper.ts': `import { it } from 'node:test'; export const check = () => it('fails', () => { throw new Error('again'); });`,
      'a.test.ts': `import { check } from './helper.ts'; check();`,
      'b.test.ts': `import { it } from 'node:test'; it('passes', () => {}); process.exit(3);`,
    });
    assert.equal(exitCode, 1);
    assert.match(all, /^failed.*: \S*a\.test\.ts .*, \S*b\.test\.ts /m);
  });

  it('fail at once when many files fail, or none is found', async (t) => {
    const many = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [`${name}.test.ts`, FAILS]));
    assert.match((await runTests(t, many)).all, /^failed: \S*a\.test\.ts .*d\.test\.ts /m);
    const none = await runTests(t, { 'a.ts': PASSES });
    assert.equal(none.exitCode, 1);
    assert.match(none.all, /no test found in/);
  });

  it('run the files of a folder in one process where told to, and fail when one of them does', async (t) => {
    const sees = (other: string) => `
      import { it } from 'node:test';
      globalThis.seen = [...(globalThis.seen ?? []), 1];
      it('is beside ${other}', () => { if (globalThis.seen.length !== 2) throw new Error('alone'); });`;
    const together = await runTests(t, { 'a.test.ts': sees('b'), 'b.test.ts': sees('a') }, 'one:');
    assert.equal(together.exitCode, 0, together.all);
    const failing = await runTests(t, { 'a.test.ts': PASSES, 'b.test.ts': FAILS }, 'one:');
    assert.equal(failing.exitCode, 1, failing.all);
    assert.match(failing.all, /^failed.*: \S*capacity-test-\w+ \(/m);
  });
});

/** Programs that are no tests, on all CPUs. */
function keepBusy(t: TestContext): void {
  for (let cpu = 0; cpu < availableParallelism(); cpu++) {
    const busy = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
    t.after(() => busy.kill('SIGKILL'));
  }
}

async function runTests(t: TestContext, files: Record<string, string>, together = '') {
  const folder = tempFolder(t, 'capacity-test-');
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ['test/run.ts', '1', `${together}${join(folder, '*.test.ts')}`];
  return execa(process.execPath, args, { env, extendEnv: false, reject: false, all: true });
}
