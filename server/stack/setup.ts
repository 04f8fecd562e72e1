/**
 * `npm run setup`: finds or installs nginx and redis-server. Exit codes: 0 both are installed; 4 they are not and
 * cannot be installed from here.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { execa } from 'execa';
import { findTool, searchDirs, type Tool } from './tools.ts';

/** On Debian and Ubuntu, package, program and service have the same name. */
const TOOLS: Tool[] = ['nginx', 'redis-server'];

export interface SetupSystem {
  dirs: string[];
  isRoot: boolean;
  /** The file that Debian's packages run before they start a service. */
  policyFile: string;
  print(line: string): void;
}

/** Finds or installs both programs; prints one line for each. @returns the exit code */
export async function setup(system: SetupSystem): Promise<0 | 4> {
  const missing: Tool[] = [];
  for (const tool of TOOLS) {
    const path = findTool(tool, system.dirs);
    if (path) system.print(`${tool} found: ${path}`);
    else missing.push(tool);
  }
  if (missing.length === 0) return 0;

  const aptGet = findTool('apt-get', system.dirs);
  if (!aptGet || !system.isRoot) {
    system.print(
      `Missing: ${missing.join(' and ')}. Install ${missing.length > 1 ? 'them' : 'it'} (as root: apt-get install ${missing.join(' ')}; macOS: brew install nginx redis) and run this again; or use one worker without a proxy: PROFILE=embedded npx artillery run scenarios/1k.yml`,
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
  const stillMissing = missing.filter((tool) => !findTool(tool, system.dirs));
  for (const tool of missing) {
    const path = findTool(tool, system.dirs);
    if (path) system.print(`${tool} installed: ${path}`);
    else system.print(`${tool} is still missing after apt-get install.`);
  }
  return stillMissing.length === 0 ? 0 : 4;
}

async function install(aptGet: string, tools: Tool[], system: SetupSystem): Promise<void> {
  // No SIGKILL after a while: dpkg could be in the middle of a package.
  const options = { env: { DEBIAN_FRONTEND: 'noninteractive' }, forceKillAfterDelay: false } as const;
  await execa(aptGet, ['update', '-q'], options);
  const lift = banServiceStarts(system.policyFile);
  try {
    await execa(aptGet, ['install', '-y', '-q', '--no-install-recommends', ...tools], options);
  } finally {
    lift();
    await disable(tools, system);
  }
}

/**
 * Debian's packages run `policy-rc.d` before they start a service: its exit code 101 forbids that. An existing one, as in
 * containers, remains in effect. Ours forbids nothing once this process has ended, however it ends.
 * @returns a function that lifts the ban
 */
function banServiceStarts(policyFile: string): () => void {
  const mark = '# socketio-capacity setup';
  if (existsSync(policyFile) && !readFileSync(policyFile, 'utf8').includes(mark)) return () => {};
  writeFileSync(policyFile, `#!/bin/sh\n${mark}\nkill -0 ${process.pid} 2>/dev/null && exit 101\nexit 0\n`, {
    mode: 0o755,
  });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const lift = () => {
    for (const signal of signals) process.off(signal, onSignal);
    rmSync(policyFile, { force: true });
  };
  const onSignal = (signal: NodeJS.Signals) => {
    lift();
    process.kill(process.pid, signal);
  };
  for (const signal of signals) process.on(signal, onSignal);
  return lift;
}

/** They would otherwise start at the next boot. Applies only to what was just installed, so to no service in use. */
async function disable(tools: Tool[], { dirs }: SetupSystem): Promise<void> {
  const systemctl = findTool('systemctl', dirs);
  const installed = tools.filter((tool) => findTool(tool, dirs));
  if (systemctl && installed.length > 0) await execa(systemctl, ['disable', ...installed], { reject: false });
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exitCode = await setup({
    dirs: searchDirs(),
    isRoot: process.getuid?.() === 0,
    policyFile: '/usr/sbin/policy-rc.d',
    print: (line) => console.log(line),
  });
}
