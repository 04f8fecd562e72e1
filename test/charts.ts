/**
 * Builds the programs that the tests of the Helm charts and the Compose files need, and runs these tests:
 *
 * npm run test:charts
 *
 * Needs Go and pip. The first run takes some minutes. Later runs, including `npm run test:deploy`, find the programs.
 */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { findTool } from '../server/stack/tools.ts';
import { JOBSET_MODULE, missingTools, PYTHON_PACKAGES, TOOLS } from './helpers/tools.ts';

const BUILD_TIMEOUT_MS = 10 * 60_000;

/** Programs, each with its Go package and version. */
const PROGRAMS = {
  helm: 'helm.sh/helm/v3/cmd/helm@v3.22.0',
  kubeconform: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0',
  'compose-spec': 'github.com/compose-spec/compose-go/v2/cmd@v2.16.2',
};
/** Python package with the schemas of Kubernetes. */
const SCHEMAS = 'kubernetes-validate';
/** Go module with the schema of JobSets. */
const JOBSET = 'sigs.k8s.io/jobset@v0.10.1';

const options = { stdio: 'inherit', timeout: BUILD_TIMEOUT_MS } as const;
mkdirSync(TOOLS, { recursive: true });

for (const [program, source] of Object.entries(PROGRAMS)) {
  if (findTool(program)) continue;
  if (missingTools('go')) skip(`${program} is not installed, and neither is Go, which could build it`);
  console.log(`Building ${source} in ${TOOLS}`);
  const folder = mkdtempSync(join(TOOLS, 'build-'));
  try {
    await execa('go', ['install', source], { ...options, env: { GOBIN: folder } });
    // Go names a program after the last part of its path.
    const [built = ''] = /[^/]+(?=@)/.exec(source) ?? [];
    renameSync(join(folder, built), join(TOOLS, program));
  } catch (error) {
    skip(`${program} cannot be built: ${(error as Error).message}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
if (!existsSync(PYTHON_PACKAGES)) {
  const { failed, message } = await execa('pip', ['install', '--quiet', '--target', PYTHON_PACKAGES, SCHEMAS], {
    ...options,
    reject: false,
  });
  if (failed) skip(`the schemas of Kubernetes cannot be installed: ${message}`);
}
if (!existsSync(JOBSET_MODULE)) {
  const { stdout } = await execa('go', ['mod', 'download', '-json', JOBSET], { cwd: TOOLS, reject: false });
  const { Dir, Error: why } = JSON.parse(stdout);
  if (Dir === undefined) skip(`the schema of JobSets cannot be downloaded: ${why}`);
  symlinkSync(Dir, JOBSET_MODULE);
}

const { exitCode } = await execa('node', ['test/run.ts', '1', 'test/deploy/{charts,compose}.test.ts'], {
  ...{ stdio: 'inherit', reject: false },
});
process.exitCode = exitCode ?? 1;

function skip(why: string): never {
  console.log(`Skipped: ${why}`);
  process.exit(0);
}
