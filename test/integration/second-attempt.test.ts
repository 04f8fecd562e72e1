/** The test commands: files that failed have a second attempt, and nothing else is forgiven. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { execa } from 'execa';

const PASSES = `import { it } from 'node:test'; it('passes', () => {});`;
const FAILS = `import { it } from 'node:test'; it('fails', () => { throw new Error('again'); });`;
const FAILS_ONCE = `
  import { existsSync, writeFileSync } from 'node:fs';
  import { it } from 'node:test';
  const mark = new URL('./mark', import.meta.url);
  it('fails once', () => { if (!existsSync(mark)) { writeFileSync(mark, ''); throw new Error('once'); } });`;

describe('the test commands', () => {
  it('pass, and name the file, when it passes at the second attempt', async (t) => {
    const { exitCode, all } = await runTests(t, { 'a.test.ts': PASSES, 'b.test.ts': FAILS_ONCE });
    assert.equal(exitCode, 0, all);
    assert.match(all, /Failed once, passed at the second attempt: \S*b\.test\.ts$/);
  });

  it('fail when a file fails twice, though another passes then', async (t) => {
    const { exitCode, all } = await runTests(t, { 'a.test.ts': FAILS_ONCE, 'b.test.ts': FAILS });
    assert.equal(exitCode, 1);
    assert.match(all, /failed twice: \S*b\.test\.ts$/);
  });

  it('fail when a test that a helper defines fails, and when a file does not run to its end', async (t) => {
    const { exitCode, all } = await runTests(t, {
      'helper.ts': `import { it } from 'node:test'; export const check = () => it('fails', () => { throw new Error('again'); });`,
      'a.test.ts': `import { check } from './helper.ts'; check();`,
      'b.test.ts': `import { it } from 'node:test'; it('passes', () => {}); process.exit(3);`,
    });
    assert.equal(exitCode, 1);
    assert.match(all, /failed twice: \S*a\.test\.ts, \S*b\.test\.ts$/);
  });

  it('fail at once when many files fail, or none is found', async (t) => {
    const many = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [`${name}.test.ts`, FAILS]));
    assert.match((await runTests(t, many)).all, /^failed: \S*a\.test\.ts, .*d\.test\.ts$/m);
    const none = await runTests(t, { 'a.ts': PASSES });
    assert.equal(none.exitCode, 1);
    assert.match(none.all, /no test found in/);
  });
});

async function runTests(t: TestContext, files: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'capacity-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ['test/run.ts', '1', join(folder, '*.test.ts')];
  return execa(process.execPath, args, { env, extendEnv: false, reject: false, all: true });
}
