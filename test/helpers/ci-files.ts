/**
 * Runs the files in docs/ci like their servers, on this machine instead of in a container:
 * - GitHub: the shell steps and the upload. Other actions do not run.
 * - GitLab: gitlab-ci-local runs the job.
 * - Jenkins: test/fixtures/jenkins/pipeline.groovy runs the pipeline.
 */
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { execa } from 'execa';
import { parse } from 'yaml';
import { page, ROOT } from './pages.ts';
import { GROOVY, missingTools } from './tools.ts';

const GITLAB_CI_LOCAL = createRequire(import.meta.url).resolve('gitlab-ci-local');
const PIPELINE = join(ROOT, 'test/fixtures/jenkins/pipeline.groovy');
/** Folder in the project for replaced programs and for files that are not the job's. */
const STUBS = '.stubs';

/** State of a job as its server shows it. */
export type Outcome = 'passed' | 'warning' | 'failed';

interface Job {
  outcome: Outcome;
  output: string;
  /** Paths of the files that the server keeps. */
  kept: string[];
  /** Path of the report of tests that the server reads. */
  junit?: string;
  /** GitHub's page of the job, or Jenkins' description of the build. */
  summary?: string;
}

interface CiFile {
  /** Path of the file in a project. */
  path: string;
  run: (cwd: string, env: NodeJS.ProcessEnv) => Promise<Job>;
  /** Reason why the file cannot be run on this machine. */
  skip: string | false;
}

export const CI_FILES = {
  'github-actions.yml': { path: '.github/workflows/capacity.yml', run: runGitHubJob, skip: false },
  'gitlab-ci.yml': { path: '.gitlab-ci.yml', run: runGitLabJob, skip: false },
  Jenkinsfile: {
    path: 'Jenkinsfile',
    run: runJenkinsBuild,
    skip: missingTools('java') || (!existsSync(GROOVY) && 'not installed: Groovy (npm run test:tools)'),
  },
} satisfies Record<string, CiFile>;

/**
 * Runs the job of a file in the folder of a project.
 * @param stubs shell scripts that replace programs, by the programs' names
 * @param text text of the file, if it differs from that in docs/ci
 */
export async function runCiFile(
  name: keyof typeof CI_FILES,
  cwd: string,
  stubs: Record<string, string> = {},
  text = page(`docs/ci/${name}`),
): Promise<Job> {
  const { path, run }: CiFile = CI_FILES[name];
  mkdirSync(dirname(join(cwd, path)), { recursive: true });
  writeFileSync(join(cwd, path), text);
  // gitlab-ci-local copies the project for containers with rsync. A job in a shell does not need the copy.
  return run(cwd, withStubs(cwd, { rsync: '', ...stubs }));
}

/** @returns variables with which shell scripts replace programs */
export function withStubs(cwd: string, stubs: Record<string, string>): NodeJS.ProcessEnv {
  const bin = join(cwd, STUBS);
  mkdirSync(bin);
  for (const [program, script] of Object.entries(stubs))
    writeFileSync(join(bin, program), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { PATH: `${bin}${delimiter}${process.env.PATH}` };
}

interface GitHubJob {
  steps: {
    run?: string;
    uses?: string;
    if?: string;
    env?: Record<string, string>;
    with?: Record<string, string>;
  }[];
  defaults: { run: { shell: string } };
  env: Record<string, string>;
}

export const githubJob = (): GitHubJob => parse(page('docs/ci/github-actions.yml')).jobs.capacity;

async function runGitHubJob(cwd: string, env: NodeJS.ProcessEnv): Promise<Job> {
  const { steps, defaults, env: ofJob } = githubJob();
  const shell = defaults.run.shell === 'bash' ? ['--noprofile', '--norc', '-eo', 'pipefail'] : ['-e'];
  const [file, summary] = [join(cwd, STUBS, 'step.sh'), join(cwd, STUBS, 'summary.md')];
  const job: Job = { outcome: 'passed', output: '', kept: [] };
  for (const { run: script, uses = '', if: condition, env: secrets = {}, with: inputs } of steps) {
    if (job.outcome === 'failed' && condition !== 'always()') continue;
    if (uses.startsWith('actions/upload-artifact@')) job.kept = filesIn(cwd, inputs?.path);
    if (script === undefined) continue;
    writeFileSync(file, script);
    const values = Object.keys(secrets).map((name) => [name, process.env[name] ?? '']);
    const options = { cwd, env: { ...env, ...ofJob, ...Object.fromEntries(values), GITHUB_STEP_SUMMARY: summary } };
    const { failed, all } = await execa('bash', [...shell, file], { ...options, all: true, reject: false });
    job.output += `${all}\n`;
    if (failed) job.outcome = 'failed';
  }
  return { ...job, summary: readFileSync(summary, 'utf8') };
}

async function runGitLabJob(cwd: string, env: NodeJS.ProcessEnv): Promise<Job> {
  await execa('git', ['init', '--quiet'], { cwd });
  const source = ['--variable', 'CI_PIPELINE_SOURCE=web', '--ignore-predefined-vars', 'CI_PIPELINE_SOURCE'];
  const local = ['--force-shell-executor', '--home', join(cwd, STUBS), '--color=false'];
  const options = { cwd, env, all: true, reject: false } as const;
  const { all: output } = await execa(process.execPath, [GITLAB_CI_LOCAL, ...source, ...local], options);
  // The exit code of gitlab-ci-local ignores every failure of a job with `allow_failure`, unlike the list at its end.
  const [, word = ''] = /^ (PASS|WARN|FAIL) +capacity/m.exec(output) ?? [];
  const outcome = outcomeOf(word, { PASS: 'passed', WARN: 'warning', FAIL: 'failed' }, output);
  const { artifacts } = parse(page('docs/ci/gitlab-ci.yml')).capacity;
  const isKept = outcome === 'passed' || artifacts.when === 'always';
  return { outcome, output, kept: isKept ? filesIn(cwd, ...artifacts.paths) : [], junit: artifacts.reports.junit };
}

async function runJenkinsBuild(cwd: string, env: NodeJS.ProcessEnv): Promise<Job> {
  const args = [
    '-XX:TieredStopAtLevel=1',
    '-cp',
    GROOVY,
    'groovy.ui.GroovyMain',
    PIPELINE,
    join(cwd, 'Jenkinsfile'),
    cwd,
  ];
  const { stdout, all: output } = await execa('java', args, { cwd, env, all: true, reject: false });
  const [build = '{}'] = /^\{.*"result".*\}$/m.exec(stdout) ?? [];
  const { result, description, reports, archived } = JSON.parse(build);
  const outcome = outcomeOf(result, { SUCCESS: 'passed', UNSTABLE: 'warning', FAILURE: 'failed' }, output);
  return { outcome, output, kept: archived, junit: reports[0], summary: description };
}

/** @throws Error with the output if the server has not reported a state */
function outcomeOf(word: string, outcomes: Record<string, Outcome>, output: string): Outcome {
  const outcome = outcomes[word];
  if (!outcome) throw new Error(`no state of a job in\n${output}`);
  return outcome;
}

function filesIn(cwd: string, ...folders: (string | undefined)[]): string[] {
  return folders.flatMap((folder) => (folder ? globSync(`${join(folder, '/')}*`, { cwd }) : []));
}
