/**
 * Installs the optional programs of the tests of Helm charts, Compose files, CI files and WebSocket servers, and runs these tests:
 *
 * npm run test:tools
 *
 * Needs Go, pip, Java, Maven and a C++ compiler. The first run takes some minutes. Later runs, including `npm test`, find
 * the programs. Tests whose program cannot be installed are skipped.
 */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { execa } from 'execa';
import { findTool } from '../server/stack/tools.ts';
import { codeBlocks, page } from './helpers/pages.ts';
import { GROOVY, JOBSET, JOBSET_MODULE, PYTHON_PACKAGES, TOOLS } from './helpers/tools.ts';

const INSTALL_TIMEOUT_MS = 10 * 60_000;

/** Programs, each with its Go package and version. */
const PROGRAMS = {
  helm: 'helm.sh/helm/v3/cmd/helm@v3.22.0',
  kubeconform: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0',
  'compose-spec': 'github.com/compose-spec/compose-go/v2/cmd@v2.16.2',
  actionlint: 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12',
};
/** Python package with the schemas of Kubernetes. */
const SCHEMAS = 'kubernetes-validate';
/** Maven artifact of Groovy, which runs the Jenkinsfile. */
const GROOVY_ARTIFACT = `org.codehaus.groovy:${basename(GROOVY, '.jar').replace('all-', 'all:')}`;
/** Page whose commands install the servers of the WebSocket study, and the folder that they name. */
const WEBSOCKETS = 'docs/studies/websockets/about.md';
const SERVERS = join(TOOLS, 'server-modules');
const SERVERS_NODE = join(SERVERS, 'node_modules/node/bin/node');

const options = { stdio: 'inherit', timeout: INSTALL_TIMEOUT_MS } as const;
mkdirSync(TOOLS, { recursive: true });

for (const [program, source] of Object.entries(PROGRAMS))
  if (!findTool(program)) await install(program, () => buildProgram(program, source));
if (!existsSync(PYTHON_PACKAGES))
  await install(SCHEMAS, () => execa('pip', ['install', '--quiet', '--target', PYTHON_PACKAGES, SCHEMAS], options));
if (!existsSync(JOBSET_MODULE))
  await install('the source of JobSets', async () => {
    const module = `${JOBSET.module}@${JOBSET.version}`;
    const { stdout } = await execa('go', ['mod', 'download', '-json', module], { cwd: TOOLS });
    symlinkSync(JSON.parse(stdout).Dir, JOBSET_MODULE);
  });
if (!existsSync(GROOVY)) {
  const args = ['dependency:copy', `-Dartifact=${GROOVY_ARTIFACT}`, `-DoutputDirectory=${TOOLS}`];
  await install(GROOVY_ARTIFACT, () => execa('mvn', ['--quiet', '--batch-mode', ...args], options));
}
if (!existsSync(SERVERS)) {
  const [commands = ''] = codeBlocks(page(WEBSOCKETS), 'sh');
  // Without `-e`, because eiows also needs the sources of Node.
  await install('servers of the WebSocket study', () => execa('bash', ['-xc', commands], { ...options, cwd: TOOLS }));
}

const runs = [await test('node', 'test/deploy/{charts,compose}.test.ts', 'test/unit/docs/ci.test.ts')];
if (existsSync(SERVERS_NODE)) runs.push(await test(SERVERS_NODE, 'test/integration/server/websockets.test.ts'));
process.exitCode = runs.find((exitCode) => exitCode !== 0) ?? 0;

/** Reports a failed installation and continues. */
async function install(what: string, run: () => Promise<unknown>): Promise<void> {
  console.log(`Installing ${what} in ${TOOLS}`);
  try {
    await run();
  } catch (error) {
    console.log(`Not installed: ${what}: ${(error as Error).message}`);
  }
}

async function buildProgram(program: string, source: string): Promise<void> {
  const folder = mkdtempSync(join(TOOLS, 'build-'));
  try {
    await execa('go', ['install', source], { ...options, env: { GOBIN: folder } });
    // Go names a program after the last part of its path.
    const [built = ''] = /[^/]+(?=@)/.exec(source) ?? [];
    renameSync(join(folder, built), join(TOOLS, program));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @returns the exit code of the tests in these files */
async function test(node: string, ...files: string[]): Promise<number> {
  const env = { CAPACITY_MODULES: SERVERS };
  const { exitCode } = await execa(node, ['test/run.ts', '1', ...files], { stdio: 'inherit', reject: false, env });
  return exitCode ?? 1;
}
