/**
 * Builds a control plane of Kubernetes and the controller of JobSets, and tests the charts with them:
 *
 * npm run test:cluster
 *
 * Needs Go, and Helm from `npm run test:tools`. The first run takes about ten minutes. Later runs find the programs.
 */
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { findTool } from '../server/stack/tools.ts';
import { ROOT } from './helpers/pages.ts';
import { CONTROL_PLANE, JOBSET, JOBSET_MODULE, missingTools, TOOLS } from './helpers/tools.ts';

const KUBERNETES = { module: 'k8s.io/kubernetes', version: 'v1.37.2' };
const BUILD_TIMEOUT_MS = 60 * 60_000;

const missing = missingTools('helm') || (!existsSync(JOBSET_MODULE) && 'no source of JobSets (npm run test:tools)');
if (missing) fail(missing);
if (!findTool('jobset-controller')) await build('jobset-controller', prepareJobSets).catch(fail);
if (CONTROL_PLANE.some((name) => !findTool(name))) {
  await build('control-plane', prepareControlPlane).catch(fail);
  for (const program of CONTROL_PLANE) {
    if (!existsSync(join(TOOLS, program))) symlinkSync('control-plane', join(TOOLS, program));
  }
}

const { exitCode } = await execa('node', ['test/run.ts', '1', 'test/cluster/*.test.ts'], {
  ...{ stdio: 'inherit', reject: false },
});
process.exitCode = exitCode ?? 1;

/** Ends this process with an error, because the tests cannot run. */
function fail(why: unknown): never {
  console.error(`The charts were not tested: ${why instanceof Error ? why.message : why}`);
  process.exit(1);
}

interface Source {
  /** Lines of go.mod. */
  lines: string[];
  package: string;
  linkerFlags?: string[];
}

/**
 * Builds a program in a Go module of its own. `go install` would need lists of versions, which not every module proxy
 * has.
 */
async function build(program: string, prepare: (folder: string) => Source | Promise<Source>): Promise<void> {
  if (missingTools('go')) fail(`${program} is not installed, and neither is Go, which could build it`);
  console.log(`Building ${program} in ${TOOLS}`);
  const folder = mkdtempSync(join(TOOLS, 'build-'));
  try {
    const source = await prepare(folder);
    writeFileSync(join(folder, 'go.mod'), ['module built', ...source.lines].map((line) => `${line}\n`).join(''));
    const flags = ['-s', '-w', ...(source.linkerFlags ?? [])].join(' ');
    const args = ['build', '-mod=mod', '-ldflags', flags, '-o', program, source.package];
    await execa('go', args, { cwd: folder, stdio: 'inherit', timeout: BUILD_TIMEOUT_MS });
    renameSync(join(folder, program), join(TOOLS, program));
  } catch (error) {
    throw new Error(`${program} cannot be built: ${(error as Error).message}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function prepareJobSets(): Source {
  return { lines: ['go 1.24.0', `require ${JOBSET.module} ${JOBSET.version}`], package: JOBSET.module };
}

async function prepareControlPlane(folder: string): Promise<Source> {
  cpSync(join(ROOT, 'test/fixtures/control-plane'), folder, { recursive: true });
  const { module, version } = KUBERNETES;
  const { stdout } = await execa('go', ['mod', 'download', '-json', `${module}@${version}`], { cwd: folder });
  const released = readFileSync(JSON.parse(stdout).GoMod, 'utf8');
  const [go = '', godebug = ''] = [/^go .*$/m, /^godebug .*$/m].map((line) => line.exec(released)?.[0]);
  // The repository of Kubernetes has these modules in a folder. They are published with the same number, as v0.
  const staged = [...released.matchAll(/^\s+(k8s\.io\/[\w-]+) => \.\/staging/gm)].map(
    ([, name]) => `replace ${name} => ${name} ${version.replace('v1', 'v0')}`,
  );
  // Helm asks the API server for its version.
  const parts = Object.entries({ gitVersion: version, gitMajor: '1', gitMinor: version.split('.')[1] });
  return {
    lines: [go, godebug, `require ${module} ${version}`, ...staged],
    package: '.',
    linkerFlags: parts.map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`),
  };
}
