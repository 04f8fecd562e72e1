/** The published packages as a user gets them: packed, and installed into projects that were empty. */
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

const QUIET = ['--no-audit', '--no-fund', '--loglevel=error'];

/** Packs all three. @returns the path of each one's tarball, in a folder for the caller to remove */
export async function packAll(): Promise<{ folder: string; tarballs: Record<string, string> }> {
  const folder = mkdtempSync(join(tmpdir(), 'packages-'));
  await execa('npm', ['pack', '--workspaces', '--pack-destination', folder, ...QUIET], { cwd: ROOT });
  const files = readdirSync(folder);
  const tarball = (name: string) => join(folder, files.find((file) => file.startsWith(`${name}-`)) ?? 'missing');
  return { folder, tarballs: Object.fromEntries(PACKAGES.map((name) => [name, tarball(name)])) };
}

/** `npm install` as a user types it, in a new folder or one that has been installed into. */
export async function install(project: string, ...specs: string[]): Promise<void> {
  mkdirSync(project, { recursive: true });
  const manifest = join(project, 'package.json');
  if (!readdirSync(project).includes('package.json')) writeFileSync(manifest, '{"private": true}');
  // Without variables that would keep an install script from running or from downloading something.
  const excluded = /^(PLAYWRIGHT_|PUPPETEER_|npm_config_ignore_scripts$)/i;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !excluded.test(name)));
  await execa('npm', ['install', '--prefer-offline', ...QUIET, ...specs], { cwd: project, env, extendEnv: false });
}

/** @returns paths of the packages that run a script when they are installed, which could download anything */
export function withInstallScripts(project: string): string[] {
  const { packages } = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8'));
  const entries = Object.entries<{ hasInstallScript?: boolean }>(packages);
  return entries.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path);
}

/**
 * A package as `npm install` would place it, without downloading its dependencies: a copy of its files, with links to
 * this repository's packages below them. Only this package sees those; ours have their own dependencies.
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
