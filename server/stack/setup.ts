/**
 * `npm run setup`: sees to nginx and redis-server. Exit codes: 0 both are there; 4 they are not and cannot be installed
 * from here.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { execa } from 'execa';
import { findTool, searchDirs, type Tool, toolVersion } from './tools.ts';

/** In Debian and Ubuntu the package, the program and the service have the same name. */
const TOOLS: Tool[] = ['nginx', 'redis-server'];

export interface SetupSystem {
  /** Folders where programs are looked for. */
  dirs: string[];
  isRoot: boolean;
  /** The file that Debian's packages ask before they start a service. */
  policyFile: string;
  print(line: string): void;
}

/** Finds or installs both programs; prints one line for each. @returns the exit code */
export async function setup(system: SetupSystem): Promise<0 | 4> {
  const missing: Tool[] = [];
  for (const tool of TOOLS) {
    const path = findTool(tool, system.dirs);
    if (path) system.print(`${tool} ${await toolVersion(tool, path)} found: ${path}`);
    else missing.push(tool);
  }
  if (missing.length === 0) return 0;

  const aptGet = findTool('apt-get', system.dirs);
  if (!aptGet || !system.isRoot) {
    system.print(
      `Missing: ${missing.join(' and ')}. Install ${missing.length > 1 ? 'them' : 'it'} (as root: apt-get install ${missing.join(' ')}; macOS: brew install nginx redis) and run this again, or do without, with one worker and no proxy: PROFILE=embedded npx artillery run scenarios/1k.yml`,
    );
    return 4;
  }
  system.print(`Installing ${missing.join(' and ')} with apt-get; their system services are not started.`);
  try {
    await install(aptGet, missing, system);
  } catch (error) {
    system.print(`apt-get failed: ${(error as Error).message}`);
    return 4;
  }
  const still = missing.filter((tool) => !findTool(tool, system.dirs));
  for (const tool of missing) {
    const path = findTool(tool, system.dirs);
    if (path) system.print(`${tool} ${await toolVersion(tool, path)} installed: ${path}`);
    else system.print(`${tool} is still missing after apt-get install.`);
  }
  return still.length === 0 ? 0 : 4;
}

async function install(aptGet: string, tools: Tool[], system: SetupSystem): Promise<void> {
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  await execa(aptGet, ['update', '-q'], { env });
  await withoutServiceStarts(system.policyFile, () =>
    execa(aptGet, ['install', '-y', '-q', '--no-install-recommends', ...tools], { env }),
  );
  // They would otherwise start with the next boot. Only what was missing until now, so nobody's own service.
  const systemctl = findTool('systemctl', system.dirs);
  if (systemctl) await execa(systemctl, ['disable', ...tools], { reject: false });
}

/** Exit code 101 of `policy-rc.d` forbids packages to start services. One that is there already (containers) stays. */
async function withoutServiceStarts(policyFile: string, action: () => Promise<unknown>): Promise<void> {
  if (existsSync(policyFile)) {
    await action();
    return;
  }
  writeFileSync(policyFile, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    await action();
  } finally {
    rmSync(policyFile, { force: true });
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exitCode = await setup({
    dirs: searchDirs(),
    isRoot: process.getuid?.() === 0,
    policyFile: '/usr/sbin/policy-rc.d',
    print: (line) => console.log(line),
  });
}
