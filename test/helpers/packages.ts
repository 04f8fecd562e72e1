/** Packs the published packages, and installs them into empty projects, as users do. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { specifiersOf } from './imports.ts';
import { ROOT } from './pages.ts';

export const ENGINE = 'artillery-engine-socketio-capacity';
export const HOOK = 'artillery-plugin-socketio-capacity';
export const INSTRUMENT = 'socketio-capacity-instrument';
const PACKAGES = [ENGINE, HOOK, INSTRUMENT];
/** READMEs in the order in which a release follows them. The first one starts the server. */
export const READMES = {
  [INSTRUMENT]: 'server/instrument-package/README.md',
  [ENGINE]: 'plugin/engine/README.md',
  [HOOK]: 'plugin/hook/README.md',
};

const QUIET = ['--no-audit', '--no-fund', '--loglevel=error'];

/**
 * Packs all packages or the named ones.
 * @returns the paths of the tarballs, in `to` or in a folder that the caller must remove
 */
export async function pack(
  names = PACKAGES,
  to?: string | false,
): Promise<{ folder: string; tarballs: Record<string, string> }> {
  const folder = to || mkdtempSync(join(tmpdir(), 'packages-'));
  mkdirSync(folder, { recursive: true });
  const workspaces = names.flatMap((name) => ['--workspace', name]);
  await execa('npm', ['pack', ...workspaces, '--pack-destination', folder, ...QUIET], { cwd: ROOT });
  const files = readdirSync(folder);
  const tarball = (name: string) => join(folder, files.find((file) => file.startsWith(`${name}-`)) ?? 'missing');
  return { folder, tarballs: Object.fromEntries(names.map((name) => [name, tarball(name)])) };
}

/** Runs `npm install` in a new or existing project. */
export async function install(project: string, ...specs: string[]): Promise<void> {
  mkdirSync(project, { recursive: true });
  const manifest = join(project, 'package.json');
  if (!readdirSync(project).includes('package.json')) writeFileSync(manifest, '{"private": true}');
  // Removes variables that would prevent install scripts from running or downloading.
  const excluded = /^(PLAYWRIGHT_|PUPPETEER_|npm_config_ignore_scripts$)/i;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !excluded.test(name)));
  await execa('npm', ['install', '--prefer-offline', ...QUIET, ...specs], { cwd: project, env, extendEnv: false });
}

export const NO_REGISTRY = 'the npm registry cannot be reached, and its cache lacks this version of Node';

/**
 * @param version version of npm's package `node`; `20` is the newest of its line
 * @returns the program: that of this process if its version matches, otherwise installed in `project`; undefined
 * without a registry, except in CI
 */
export async function nodeOf(version: string, project: string): Promise<string | undefined> {
  if (`${process.versions.node}.`.startsWith(`${version}.`)) return process.execPath;
  try {
    await install(project, `node@${version}`, '--fetch-retries=1');
  } catch (error) {
    if (!process.env.CI && UNREACHABLE.test(String(error))) return undefined;
    throw error;
  }
  return join(project, 'node_modules/.bin/node');
}

const UNREACHABLE = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED/;

/** @returns the paths of packages with an install script, because such a script could download anything */
export function withInstallScripts(project: string): string[] {
  const { packages } = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8'));
  const entries = Object.entries<{ hasInstallScript?: boolean }>(packages);
  return entries.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path);
}

/**
 * Places a package like `npm install`, but without downloading its dependencies. The package's files are copied, and
 * links to this repository's packages are created in it. Only this package sees these links.
 */
export function place(project: string, name: string): void {
  const installed = join(ROOT, 'node_modules');
  const target = join(project, 'node_modules', name);
  cpSync(join(installed, name), target, { recursive: true });
  const nested = join(target, 'node_modules');
  mkdirSync(nested, { recursive: true });
  const present = [...PACKAGES, ...readdirSync(nested), name, '.bin'];
  for (const other of readdirSync(installed)) {
    if (!present.includes(other)) symlinkSync(join(installed, other), join(nested, other));
  }
}

export function packagesOf(path: string): string[] {
  return specifiersOf(path, readFileSync(path, 'utf8'))
    .filter((specifier) => !specifier.startsWith('.') && !specifier.startsWith('node:'))
    .map((specifier) => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/'));
}
