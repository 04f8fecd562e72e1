/** Makes a project as docs/guide/ci.md describes, and runs the files for CI in it, with real runs. */
import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { CI_FILES, runCiFile } from './ci-files.ts';
import { codeBlocks, page } from './pages.ts';

type Name = keyof typeof CI_FILES;

/** Writes the scenario of the project: `init` with few connections, to the server of the README. */
const INIT =
  'npx socketio-capacity init --url http://localhost:3000 --instrumented --connections 20 --out capacity.yml';

/** Changes to the scenario, by the state of the GitLab job that they cause. */
const CHANGES = {
  failed: ({ config }: Script) => config.ensure.thresholds.push({ 'connections.peak': 1 }),
  // Artillery skips arrivals, which makes a run SUSPECT.
  warning: ({ config }: Script) => {
    for (const phase of config.phases) Object.assign(phase, { maxVusers: 15 });
  },
};

interface Script {
  config: { ensure: { thresholds: object[] }; phases: object[] };
}

/**
 * @param project folder with package.json and the tarballs
 * @param run runs a shell command in a folder
 */
export async function followCiGuide(
  project: string,
  run: (block: string, cwd: string) => Promise<void>,
): Promise<void> {
  const install = codeBlocks(page('docs/guide/ci.md'), 'sh').find((block) => block.startsWith('npm install'));
  await run(install ?? assert.fail('docs/guide/ci.md installs nothing'), project);
  await run(INIT, project);
  for (const name of Object.keys(CI_FILES) as Name[]) {
    const { skip } = CI_FILES[name];
    if (skip) console.log(`\n${name} is skipped: ${skip}`);
    else await runJob(project, name);
  }
  for (const state of Object.keys(CHANGES) as (keyof typeof CHANGES)[]) await runJob(project, 'gitlab-ci.yml', state);
}

/** Runs the job in a copy of the project, without the installed packages: what a CI server checks out. */
async function runJob(project: string, name: Name, state?: keyof typeof CHANGES): Promise<void> {
  const cwd = `${project}-${name}-${state ?? 'unchanged'}`;
  cpSync(project, cwd, { recursive: true, filter: (path) => !path.startsWith(join(project, 'node_modules')) });
  if (state) {
    const script: Script = parse(readFileSync(join(cwd, 'capacity.yml'), 'utf8'));
    CHANGES[state](script);
    writeFileSync(join(cwd, 'capacity.yml'), stringify(script));
  }
  console.log(`\ndocs/ci/${name}${state ? `, with a scenario that makes the job ${state}` : ''}:`);
  const { outcome, output, kept, junit } = await runCiFile(name, cwd);
  console.log(output);
  // A SUSPECT run counts as success here. GitHub shows it as failed.
  const isSuspect = outcome === 'warning' || /title=SUSPECT/.test(output);
  assert.ok(state ? outcome === state : outcome === 'passed' || isSuspect, `${name}: ${outcome}`);
  for (const file of ['report.html', 'report.md', 'result.json', 'junit.xml'])
    assert.ok(kept.includes(`capacity-report/${file}`), `${name} keeps no ${file}: ${kept}`);
  if (junit) assert.match(readFileSync(join(cwd, junit), 'utf8'), state === 'failed' ? /<failure/ : /<testcase/);
}
