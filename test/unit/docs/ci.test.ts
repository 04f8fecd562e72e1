import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { REPORT_FILES, writeReportFiles } from '../../../plugin/result/report-files.ts';
import { EXIT_CODES } from '../../../protocol/codes/exit-codes.ts';
import { CI_FILES, type CiFile, githubJob, gitlabJob, runCiFile } from '../../helpers/ci-files.ts';
import { assertEach, column } from '../../helpers/columns.ts';
import { fileTree } from '../../helpers/file-tree.ts';
import { page } from '../../helpers/pages.ts';
import { perfectResult } from '../../helpers/results.ts';

const { refused, suspect, invalid, worse } = EXIT_CODES;
const TITLES: Record<number, string> = {
  [worse]: 'Failed',
  [refused]: 'No result',
  [suspect]: 'SUSPECT',
  [invalid]: 'INVALID',
};

/** Runs a job whose run leaves files and exits with this code. A refused run leaves no files. */
async function job(t: TestContext, file: CiFile, code: number) {
  const cwd = fileTree(t, { 'run/settings': '' });
  const run = join(cwd, 'run');
  writeReportFiles(perfectResult(), run);
  const leave = `mkdir results && cp -R '${run}' results/run && ln -s run results/latest`;
  const expected = '[ "$*" = "artillery run capacity.yml" ] || exit 99';
  return {
    cwd,
    ...(await runCiFile(cwd, file, [expected, code === refused ? ':' : leave, `exit ${code}`].join('\n'))),
  };
}

describe('the files for CI', { concurrency: 2 }, () => {
  for (const [name, read] of Object.entries(CI_FILES)) {
    for (const code of [0, ...Object.values(EXIT_CODES)]) {
      it(`${name}: a run that exits with ${code} ends the job with this code and keeps its report`, async (t) => {
        const file = read();
        const { cwd, code: ended, output, summary } = await job(t, file, code);
        assert.equal(ended, code, output);
        const isMade = code !== refused;
        const kept = join(cwd, file.artifact);
        assert.equal(existsSync(kept), isMade);
        const missing = column(REPORT_FILES, 0)?.filter((one) => isMade && !readdirSync(kept).includes(one));
        assert.deepEqual(missing, []);
        if (isMade && file.junit) assert.match(readFileSync(join(cwd, file.junit), 'utf8'), /<testsuite /);
        if (name !== 'github-actions.yml') return;
        const titles = [...output.matchAll(/^::error title=(.*?)::/gm)].map(([, title]) => title);
        assert.deepEqual(titles, code === 0 ? [] : [TITLES[code]]);
        assert.match(readFileSync(summary, 'utf8'), isMade ? /^# Socket\.IO capacity: / : /^There is no result/);
      });
    }
  }

  it('the GitHub Actions workflow uses each action in a fixed major version', () => {
    const actions = githubJob().steps.flatMap(({ uses }) => uses?.replace(/@v\d+$/, '') ?? []);
    assert.deepEqual(actions, ['actions/checkout', 'actions/setup-node', 'actions/upload-artifact']);
  });

  it('the GitLab job ends with a warning only for a SUSPECT run', () => {
    assert.deepEqual(gitlabJob().allow_failure, { exit_codes: [suspect] });
  });

  it('the Jenkins job distinguishes exit codes, removes earlier results, and shows the run’s answer', async (t) => {
    const cases = page('docs/ci/Jenkinsfile').matchAll(/case (\d): (\w+)(?:\('(\w+))?/g);
    const expected = ['0 break ', `${worse} error Failed`, `${suspect} unstable SUSPECT`, `${invalid} error INVALID`];
    assertEach([...cases], ([, code, step, word = '']) => `${code} ${step} ${word}`, expected);
    const file = CI_FILES.Jenkinsfile?.() as CiFile;
    const cwd = fileTree(t, {});
    mkdirSync(join(cwd, 'results/latest'), { recursive: true });
    assert.equal((await runCiFile(cwd, file, `exit ${refused}`)).code, refused);
    assert.ok(!existsSync(join(cwd, file.artifact)));
    assert.match((await job(t, file, 0)).output, /Passed\. 5,000 connections/);
  });
});
