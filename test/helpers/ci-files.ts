/** Runs the shell steps of the files in docs/ci like a CI server. Actions and plugins of CI servers are not run. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { execa } from 'execa';
import { parse } from 'yaml';
import { page } from './pages.ts';

interface ShellStep {
  script: string;
  /** Whether the step runs after a failed step, too. */
  always: boolean;
  env?: Record<string, string>;
}

/** Contents of a CI file: the shell of its steps, the steps in order, and the files that the server keeps. */
export interface CiFile {
  shell: string[];
  steps: ShellStep[];
  artifact: string;
  junit: string | undefined;
}

interface GitHubStep {
  run?: string;
  uses?: string;
  if?: string;
  env?: Record<string, string>;
  with?: Record<string, string>;
}

interface GitHubJob {
  steps: GitHubStep[];
  defaults: { run: { shell: string } };
}

export const githubJob = (): GitHubJob => parse(page('docs/ci/github-actions.yml')).jobs.capacity;
export const gitlabJob = () => parse(page('docs/ci/gitlab-ci.yml')).capacity;

export const CI_FILES: Record<string, () => CiFile> = {
  'github-actions.yml': () => {
    const { steps, defaults } = githubJob();
    const upload = steps.find(({ uses }) => uses?.startsWith('actions/upload-artifact@'));
    return {
      shell: defaults.run.shell === 'bash' ? ['bash', '--noprofile', '--norc', '-eo', 'pipefail'] : ['bash', '-e'],
      steps: steps.flatMap(({ run: script, if: condition, env }) =>
        script === undefined ? [] : [{ script, always: condition === 'always()', env }],
      ),
      artifact: upload?.if === 'always()' ? (upload.with?.path ?? '') : '',
      junit: undefined,
    };
  },
  'gitlab-ci.yml': () => {
    const { script, after_script, artifacts } = gitlabJob();
    return {
      shell: ['bash', '-eo', 'pipefail'],
      steps: [
        { script: script.join('\n'), always: false },
        { script: after_script.join('\n'), always: true },
      ],
      artifact: artifacts.when === 'always' ? artifacts.paths[0] : '',
      junit: artifacts.reports.junit,
    };
  },
  Jenkinsfile: () => {
    const text = page('docs/ci/Jenkinsfile');
    const post = text.indexOf('  post {');
    const shellSteps = text.matchAll(/\bsh(?: |\((?:\w+: \w+, )*script: )(['"])(.*?)\1(?:\)|$)/gm);
    return {
      shell: ['sh', '-xe'],
      steps: [...shellSteps].map(({ 2: script = '', index }) => ({ script, always: index > post })),
      artifact: /archiveArtifacts artifacts: '([^'*]*)/.exec(text)?.[1] ?? '',
      junit: /junit testResults: '([^']*)/.exec(text)?.[1],
    };
  },
};

/**
 * Runs the steps of a file in a folder.
 * @param npx shell script that replaces `npx`; `npm` does nothing
 * @returns the exit code of the first failed step, the output, and the path of GitHub's summary
 */
export async function runCiFile(cwd: string, { shell: [command = '', ...args], steps }: CiFile, npx: string) {
  const bin = join(cwd, 'bin');
  mkdirSync(bin);
  for (const [name, script] of Object.entries({ npm: '', npx }))
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const PATH = `${bin}${delimiter}${process.env.PATH}`;
  const summary = join(cwd, 'step-summary.md');
  let code = 0;
  let output = '';
  for (const { script, always, env: secrets = {} } of steps) {
    if (code !== 0 && !always) continue;
    const file = join(cwd, 'step.sh');
    writeFileSync(file, script);
    const without = Object.fromEntries(Object.keys(secrets).map((name) => [name, '']));
    const env = { ...without, PATH, GITHUB_STEP_SUMMARY: summary };
    const { exitCode, all } = await execa(command, [...args, file], { cwd, env, all: true, reject: false });
    output += `${all}\n`;
    code ||= exitCode ?? 1;
  }
  return { code, output, summary };
}
