/** Which failed test files have a second attempt. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { execa } from 'execa';
import { tempFolder } from '../../helpers/temp-folder.ts';

/** @param failing attempts of each file that fail; a line in `log` for each attempt */
function testFile(log: string, failing: number): string {
  return `
    import assert from 'node:assert';
    import { appendFileSync, existsSync, readFileSync } from 'node:fs';
    import { it } from 'node:test';
    it('is tried', () => {
      appendFileSync(${JSON.stringify(log)}, '.');
      assert.ok(readFileSync(${JSON.stringify(log)}).length > ${failing});
    });`;
}

/** Whose share of the CPUs is known without a second of readings. */
function command(folder: string, others: number): string {
  const attempts = join(import.meta.dirname, '../../helpers/attempts.ts');
  return `
    const { runTests } = await import(${JSON.stringify(attempts)});
    await runTests([${JSON.stringify(join(folder, '*.test.mjs'))}], 4, { read: async () => {}, share: () => ${others} });`;
}

interface Case {
  others: number;
  failing: number[];
  attempts: number[];
  code: number;
  end: RegExp;
}

const CASES: Record<string, Case> = {
  'has none while nobody takes CPU': { others: 0.19, failing: [1], attempts: [1], code: 1, end: /^failed: .*0\.test/m },
  'has one while others do, and the end says so': {
    ...{ others: 0.2, failing: [1, 0], attempts: [2, 1], code: 0 },
    end: /second attempt: \S*0\.test\.mjs \(others took 20 % of the CPUs\)\n?$/,
  },
  'has no third': { others: 0.9, failing: [2], attempts: [2], code: 1, end: /^failed twice: .*0\.test.* 90 %/m },
  'has none with more than two others': {
    others: 0.9,
    failing: [1, 1, 1, 1],
    attempts: [1, 1, 1, 1],
    code: 1,
    end: /3\.test/,
  },
};

describe('a failed test file', { concurrency: true }, () => {
  for (const [name, { others, failing, attempts, code, end }] of Object.entries(CASES)) {
    it(name, async (t) => {
      const folder = tempFolder(t);
      const logs = failing.map((_, index) => join(folder, `${index}.log`));
      for (const [index, log] of logs.entries()) {
        writeFileSync(join(folder, `${index}.test.mjs`), testFile(log, failing[index] ?? 0));
      }
      const main = join(folder, 'main.mjs');
      writeFileSync(main, command(folder, others));
      const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
      const options = { all: true, reject: false, extendEnv: false, env, cwd: folder } as const;
      const { exitCode, all } = await execa(process.execPath, [main], options);
      assert.equal(exitCode, code, all);
      assert.match(all, end);
      assert.deepEqual(
        logs.map((log) => readFileSync(log, 'utf8').length),
        attempts,
      );
    });
  }
});
