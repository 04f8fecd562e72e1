/** Tests that the test commands give a second attempt only to files that failed while other programs used the CPUs. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { execa } from 'execa';
import { tempFolder } from '../helpers/temp-folder.ts';

const PASSES = `import { it } from 'node:test'; it('passes', () => {});`;
/** @param times number of attempts that fail; each attempt prints a line */
const fails = (times: number) => `
  import { appendFileSync, readFileSync } from 'node:fs';
  import { it } from 'node:test';
  const log = import.meta.filename + '.log';
  appendFileSync(log, '.');
  console.log('attempt', import.meta.filename.at(-'b.test.ts'.length), readFileSync(log).length);
  it('fails', () => { if (readFileSync(log).length <= ${times}) throw new Error('again'); });`;
/** Test file that passes only together with another such file in its process. */
const BESIDE = `
  import { it } from 'node:test';
  globalThis.seen = [...(globalThis.seen ?? []), 1];
  it('is not alone', () => { if (globalThis.seen.length !== 2) throw new Error('alone'); });`;

interface Case {
  files: Record<string, string>;
  /** Share of the CPUs that other programs use. */
  otherShare: number;
  /** Whether the files form a folder that runs in a single process. */
  inOneProcess?: true;
  output: RegExp;
  /** Expected number of attempts of each file that `fails` creates. */
  attempts?: Record<string, number>;
}

const PASSED: Record<string, Case> = {
  'a file that failed once while other programs used CPU, listed at the end': {
    ...{ otherShare: 0.2, files: { a: fails(1), b: fails(0) }, attempts: { a: 2, b: 1 } },
    output: /second attempt: \S*a\.test\.ts \(others took 20 % of the CPUs\)\n?$/,
  },
  'the files of a folder in one process': {
    otherShare: 0,
    files: { a: BESIDE, b: BESIDE },
    inOneProcess: true,
    output: /./,
  },
};

const FAILED: Record<string, Case> = {
  'a file that failed while no other program used CPU': {
    ...{ otherShare: 0.19, files: { a: fails(1) }, attempts: { a: 1 } },
    output: /^failed: \S*a\.test/m,
  },
  'a file that fails twice': {
    ...{ otherShare: 0.9, files: { a: fails(2) }, attempts: { a: 2 } },
    output: /^failed twice: \S*a\.test\S* .*90 %/m,
  },
  'more failed files than chance explains': {
    ...{ otherShare: 0.9, files: { a: fails(1), b: fails(1), c: fails(1), d: fails(1) } },
    ...{ attempts: { a: 1, b: 1, c: 1, d: 1 }, output: /^failed: \S*a\.test\.ts .*d\.test\.ts /m },
  },
  'a test that a helper defines, and a file that does not run to its end': {
    files: {
      helper: `import { it } from 'node:test'; export const check = () => it('fails', () => { throw new Error('again'); });`,
      a: `import { check } from './helper.test.ts'; check();`,
      b: `${PASSES} process.exit(3);`,
    },
    ...{ otherShare: 0, output: /^failed.*: \S*a\.test\.ts .*, \S*b\.test\.ts /m },
  },
  'a file of a folder in one process': {
    ...{ otherShare: 0, files: { a: PASSES, b: fails(9) }, inOneProcess: true },
    output: /^failed.*: \S*capacity-test-\w+ \(/m,
  },
  'no file at all': { otherShare: 0, files: {}, output: /no test found in/ },
};

describe('the test commands', { concurrency: 2 }, () => {
  for (const [verb, code, cases] of [
    ['pass', 0, PASSED],
    ['fail', 1, FAILED],
  ] as const) {
    for (const [situation, { files, otherShare, inOneProcess, output, attempts = {} }] of Object.entries(cases)) {
      it(`the test commands ${verb} with ${situation}`, async (t) => {
        const folder = write(t, files);
        const pattern = `${inOneProcess ? 'one:' : ''}${folder}/*.test.ts`;
        const command = `
          import { runTests } from ${JSON.stringify(join(import.meta.dirname, '../run.ts'))};
          await runTests([${JSON.stringify(pattern)}], 4, { read: async () => {}, share: () => ${otherShare} });`;
        writeFileSync(join(folder, 'main.mjs'), command);
        const { exitCode, all } = await node(join(folder, 'main.mjs'));
        assert.equal(exitCode, code, all);
        assert.match(all, output);
        for (const [name, count] of Object.entries(attempts)) {
          assert.equal([...all.matchAll(new RegExp(`attempt ${name} `, 'g'))].length, count, `${name}: ${all}`);
        }
      });
    }
  }

  it('the test commands measure the CPU time of other programs', async (t) => {
    for (let cpu = 0; cpu < availableParallelism(); cpu++) {
      const busy = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
      t.after(() => busy.kill('SIGKILL'));
    }
    const { exitCode, all } = await node('test/run.ts', '1', `${write(t, { a: fails(1), b: fails(9) })}/*.test.ts`);
    assert.equal(exitCode, 1);
    assert.ok(Number(/failed twice: \S*b\.test\.ts \(others took (\d+) % of the CPUs\)$/.exec(all)?.[1]) >= 20, all);
  });
});

function write(t: TestContext, files: Record<string, string>): string {
  const folder = tempFolder(t, 'capacity-test-');
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `${name}.test.ts`), text);
  return folder;
}

function node(...args: string[]) {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return execa(process.execPath, args, { env, extendEnv: false, reject: false, all: true });
}
