/** The files of docs/ci: their shell steps run, with a stand-in for `npx artillery run`. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { REPORT_FILES, writeReportFiles } from '../../../plugin/result/report-files.ts';
import { EXIT_CODES } from '../../../protocol/codes/exit-codes.ts';
import { CI_FILES, githubWorkflow, gitlabFile, runCiFile } from '../../helpers/ci-files.ts';
import { assertEach } from '../../helpers/columns.ts';
import { page } from '../../helpers/pages.ts';
import { perfectResult } from '../../helpers/results.ts';

const FILES = REPORT_FILES.map(([name]) => name);
const TITLES: Record<number, string> = {
  [EXIT_CODES.worse]: 'Failed',
  [EXIT_CODES.refused]: 'No result',
  [EXIT_CODES.suspect]: 'SUSPECT',
  [EXIT_CODES.invalid]: 'INVALID',
};

/** @returns a script in place of `npx`, whose run leaves files and ends with this code; refused, it leaves none */
function fakeRun(folder: string, code: number): string {
  const run = join(folder, 'run');
  mkdirSync(run);
  writeReportFiles(perfectResult(), run);
  const leave = `mkdir results && cp -R '${run}' results/run && ln -s run results/latest`;
  return [
    '[ "$*" = "artillery run capacity.yml" ] || exit 99',
    code === EXIT_CODES.refused ? ':' : leave,
    `exit ${code}`,
  ].join('\n');
}

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'ci-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

describe('the files for CI', { concurrency: 2 }, () => {
  for (const [name, read] of Object.entries(CI_FILES)) {
    for (const code of [0, ...Object.values(EXIT_CODES)]) {
      it(`${name}: a run that ends with ${code} ends the job with it, and its report is kept`, async (t) => {
        const cwd = folder(t);
        const file = read();
        const { code: ended, output, summary } = await runCiFile(cwd, file, fakeRun(cwd, code));
        assert.equal(ended, code, output);
        const made = code !== EXIT_CODES.refused;
        assert.equal(existsSync(join(cwd, file.artifact)), made);
        if (made) assert.deepEqual(readdirSync(join(cwd, file.artifact)).sort(), [...FILES].sort());
        if (made && file.junit) assert.match(readFileSync(join(cwd, file.junit), 'utf8'), /<testsuite /);
        if (name !== 'github-actions.yml') return;
        assertEach(
          [...output.matchAll(/^::error title=(.*?)::/gm)],
          ([, title]) => title,
          code === 0 ? [] : [TITLES[code]],
        );
        assert.match(readFileSync(summary, 'utf8'), made ? /^# Socket\.IO capacity: / : /^There is no result/);
      });
    }
  }

  it('GitHub Actions: names each action with a major version', () => {
    const uses = githubWorkflow().jobs.capacity.steps.flatMap(({ uses }) => uses ?? []);
    assertEach(uses, (action) => action.replace(/@v\d+$/, ''), [
      'actions/checkout',
      'actions/setup-node',
      'actions/upload-artifact',
    ]);
  });

  it('GitLab: warns of a SUSPECT run only', () => {
    assert.deepEqual(gitlabFile().capacity.allow_failure, { exit_codes: [EXIT_CODES.suspect] });
  });

  it('Jenkins: tells the exit codes apart, removes earlier results, and shows the answer', async (t) => {
    const text = page('docs/ci/Jenkinsfile');
    const cases = [...text.matchAll(/case (\d): (\w+)(?:\('(\w+))?/g)].map(([, code, step, word]) => [
      Number(code),
      step,
      word,
    ]);
    assert.deepEqual(cases, [
      [0, 'break', undefined],
      [EXIT_CODES.worse, 'error', 'Failed'],
      [EXIT_CODES.suspect, 'unstable', 'SUSPECT'],
      [EXIT_CODES.invalid, 'error', 'INVALID'],
    ]);
    const cwd = folder(t);
    mkdirSync(join(cwd, 'results/latest'), { recursive: true });
    const file = (CI_FILES.Jenkinsfile as () => ReturnType<(typeof CI_FILES)[string]>)();
    const refused = await runCiFile(cwd, file, `exit ${EXIT_CODES.refused}`);
    assert.equal(refused.code, EXIT_CODES.refused);
    assert.ok(!existsSync(join(cwd, file.artifact)));
    const other = folder(t);
    assert.match((await runCiFile(other, file, fakeRun(other, 0))).output, /Passed\. 5,000 connections/);
  });
});
