/**
 * Packs the packages, follows the README of each to the letter in an empty project, runs the files for CI in a project
 * as the guide describes, and stops before publishing:
 *
 *   npm run release                       # nginx and redis-server must be installed; minutes
 *   npm run release -- --dry-run <folder> # only packs and installs, into that folder, which it keeps
 *   npm run release -- --set 0.2.0        # writes the next version into all files that state it
 *
 * The READMEs of engine and plugin measure the server of the first README, on its ports. A dry run installs no Artillery, which is a peer.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import { stopChildProcess } from '../protocol/base/stop-child-process.ts';
import { VERSION } from '../protocol/base/version.ts';
import { isListening } from '../server/stack/ports.ts';
import { followCiGuide } from './helpers/ci-project.ts';
import { HOOK, install, pack, READMES } from './helpers/packages.ts';
import { codeBlocks, page, ROOT } from './helpers/pages.ts';
import { eventually } from './helpers/poll.ts';

const PORTS = [3000, 3200];
const BLOCK_TIMEOUT_MS = 15 * 60_000;
const SERVER_TIMEOUT_MS = 30_000;
/** Exit code of a SUSPECT measurement. It counts as success here. */
const SUSPECT = 3;

process.env.CAPACITY_TOKEN ??= 'at-least-16-characters';
const env = { ...process.env, PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1' };
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'dry-run': { type: 'boolean' }, set: { type: 'string' } },
});
const isDryRun = values['dry-run'];
const folder = isDryRun ? resolve(positionals[0] ?? 'release') : mkdtempSync(join(tmpdir(), 'release-'));
const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
const options = { env, cancelSignal: stop.signal };
let server: ChildProcess | undefined;

/** Runs the code blocks of a README. A failure ends the release, with the block and the README. */
async function follow(name: string, readme: string, tarballs: string[]): Promise<void> {
  const project = newProject(name, tarballs);
  const markdown = page(readme);
  if (isDryRun) return install(project, ...installedBy(markdown));
  const [scenario] = codeBlocks(markdown, 'yaml');
  if (scenario !== undefined) writeFileSync(join(project, 'scenario.yml'), scenario);
  const [code] = codeBlocks(markdown, 'js');
  // Installs Socket.IO, which the project of a server has.
  if (code !== undefined) await execa('npm', ['install', 'socket.io'], { cwd: project, ...options });
  for (const [index, block] of codeBlocks(markdown, 'sh').entries()) {
    console.log(`\n${readme}, block ${index + 1}:\n${block}`);
    await run(block, project);
    if (index === 0 && code !== undefined) await serve(code, project);
  }
}

function newProject(name: string, tarballs: string[]): string {
  const project = join(folder, name);
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, 'package.json'), '{"private": true}');
  for (const tarball of tarballs) copyFileSync(tarball, join(project, basename(tarball)));
  return project;
}

/** @returns the arguments of the page's first `npm install`, without Artillery and options */
function installedBy(markdown: string): string[] {
  const [, line = ''] = /^npm install (.*)$/m.exec(markdown) ?? [];
  return line.split(' ').filter((word) => word !== 'artillery' && !word.startsWith('-'));
}

/** Runs each line separately, so that every exit code counts. */
async function run(block: string, cwd: string): Promise<void> {
  const fails = `[ $code = 0 ] || [ $code = ${SUSPECT} ] || exit $code`;
  const lines = block.trim().split('\n');
  const script = lines.map((line) => `${line}\ncode=$?; ${fails}`).join('\n');
  await execa('bash', ['-c', script], { cwd, ...options, stdio: 'inherit', timeout: BLOCK_TIMEOUT_MS });
}

async function serve(code: string, cwd: string): Promise<void> {
  writeFileSync(join(cwd, 'server.mjs'), code);
  server = spawn(process.execPath, ['server.mjs'], { cwd, env, stdio: 'inherit' });
  for (const port of PORTS) {
    await eventually(`the server of the README listens on ${port}`, () => isTaken(port), SERVER_TIMEOUT_MS);
  }
}

const isTaken = (port: number) => isListening('127.0.0.1', port);

/** @throws Error if the packages would differ from this commit */
async function requireCommit(): Promise<void> {
  const { stdout } = await execa('git', ['status', '--porcelain'], { cwd: ROOT });
  if (stdout !== '') throw new Error(`not everything is committed:\n${stdout}`);
  for (const port of PORTS) if (await isTaken(port)) throw new Error(`port ${port} of the READMEs is taken`);
}

/** Writes the version into manifests, code, charts, Compose files and pages. CHANGELOG.md and other packages keep theirs. */
async function setVersion(version: string): Promise<void> {
  const paths = ['*package.json', 'protocol/base/version.ts', 'deploy', '*README.md', 'docs/guide'];
  const { stdout } = await execa('git', ['grep', '-lF', VERSION, '--', ...paths], { cwd: ROOT });
  const current = new RegExp(`(?<![\\d.])${VERSION.replaceAll('.', '\\.')}(?![\\d])`, 'g');
  for (const path of stdout.split('\n')) {
    const file = join(ROOT, path);
    writeFileSync(file, readFileSync(file, 'utf8').replace(current, version));
    console.log(path);
  }
  await execa('npm', ['install', '--package-lock-only', '--ignore-scripts'], { cwd: ROOT, stdio: 'inherit' });
}

let packed = '';
try {
  if (values.set !== undefined) await setVersion(values.set);
  else {
    if (!isDryRun) await requireCommit();
    const all = await pack(undefined, isDryRun && folder);
    if (!isDryRun) packed = all.folder;
    const tarballs = Object.values(all.tarballs);
    for (const [name, readme] of Object.entries(READMES)) await follow(name, readme, tarballs);
    if (!isDryRun) await followCiGuide(newProject('ci', tarballs), run);
    const manifest = readFileSync(join(folder, HOOK, `node_modules/${HOOK}/package.json`), 'utf8');
    const done = isDryRun ? 'can be installed as its READMEs say' : 'does what its READMEs say';
    console.log(`\nVersion ${VERSION} ${done}. Nothing has been published; these commands do:`);
    for (const tarball of tarballs) console.log(`  npm publish ${tarball}`);
    if (!JSON.parse(manifest).repository)
      console.log('Without a git remote, the packages do not say where their sources are.');
  }
} catch (error) {
  if (packed) rmSync(packed, { recursive: true });
  console.error(`\n${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
} finally {
  if (server) await stopChildProcess(server, () => server?.kill(), 5000);
  if (!isDryRun) rmSync(folder, { recursive: true, force: true });
}
