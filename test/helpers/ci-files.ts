/** Runs the shell steps of the files in docs/ci, as their CI servers do. Actions and plugins of the servers are not run. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { execa } from 'execa';
import { page } from './pages.ts';

const yaml = createRequire(createRequire(import.meta.url).resolve('artillery/package.json'))('js-yaml') as {
  safeLoad(text: string): unknown;
};

interface ShellStep {
  script: string;
  /** Also after a step that failed. */
  always: boolean;
  env?: Record<string, string>;
}

/** The shell of all steps, the steps in order, and what the file asks its server to keep. */
interface CiFile {
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

interface GitHubWorkflow {
  jobs: { capacity: { steps: GitHubStep[]; defaults: { run: { shell: string } } } };
}

interface GitLabFile {
  capacity: {
    script: string[];
    after_script: string[];
    allow_failure: { exit_codes: number[] };
    artifacts: { when: string; paths: string[]; reports: { junit: string } };
  };
}

export const githubWorkflow = () => yaml.safeLoad(page('docs/ci/github-actions.yml')) as GitHubWorkflow;
export const gitlabFile = () => yaml.safeLoad(page('docs/ci/gitlab-ci.yml')) as GitLabFile;

export const CI_FILES: Record<string, () => CiFile> = {
  'github-actions.yml': () => {
    const { steps, defaults } = githubWorkflow().jobs.capacity;
    const upload = steps.find(({ uses }) => uses?.startsWith('actions/upload-artifact@'));
    return {
      // What `shell: bash` stands for.
      shell: defaults.run.shell === 'bash' ? ['bash', '--noprofile', '--norc', '-eo', 'pipefail'] : ['bash', '-e'],
      steps: steps.flatMap(({ run, if: condition, env }) =>
        run === undefined ? [] : [{ script: run, always: condition === 'always()', env }],
      ),
      artifact: upload?.if === 'always()' ? (upload.with?.path ?? '') : '',
      junit: undefined,
    };
  },
  'gitlab-ci.yml': () => {
    const { script, after_script, artifacts } = gitlabFile().capacity;
    return {
      shell: ['bash', '-eo', 'pipefail'],
      steps: [
        { script: script.join('\n'), always: false },
        { script: after_script.join('\n'), always: true },
      ],
      artifact: artifacts.when === 'always' ? (artifacts.paths[0] ?? '') : '',
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
 * Runs a file's steps in a folder.
 * @param npx shell script in place of `npx`; `npm` does nothing
 * @returns exit code of the first step that failed, and the output of all
 */
export async function runCiFile(cwd: string, { shell, steps }: CiFile, npx: string) {
  const bin = join(cwd, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'npm'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(bin, 'npx'), `#!/bin/sh\n${npx}\n`, { mode: 0o755 });
  const PATH = `${bin}${delimiter}${process.env.PATH}`;
  const summary = join(cwd, 'step-summary.md');
  let code = 0;
  let output = '';
  for (const [index, step] of steps.entries()) {
    if (code !== 0 && !step.always) continue;
    const file = join(cwd, `step-${index}.sh`);
    writeFileSync(file, step.script);
    const secrets = Object.fromEntries(Object.keys(step.env ?? {}).map((name) => [name, '']));
    const [command = '', ...args] = shell;
    const { exitCode, all } = await execa(command, [...args, file], {
      cwd,
      env: { ...secrets, PATH, GITHUB_STEP_SUMMARY: summary },
      all: true,
      reject: false,
    });
    output += `${all}\n`;
    code ||= exitCode ?? 1;
  }
  return { code, output, summary };
}
