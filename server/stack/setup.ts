/**
 * The command `npm run setup`: finds or installs nginx and redis-server. If one is missing, the command reports it and
 * exits with 0, because runs can use the profile `embedded`.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { execa } from 'execa';
import { describeMissingTools } from './profile.ts';
import { findTool, STACK_TOOLS, type StackTool, toolSearchDirs } from './tools.ts';

export interface SetupSystem {
  dirs: string[];
  isRoot: boolean;
  /** Path of Debian's `policy-rc.d`. Packages run it before they start a service. */
  policyFile: string;
  print(line: string): void;
}

/**
 * Finds or installs both programs, and prints a line for each.
 * @returns the programs that are still missing
 */
export async function setUpStackTools(system: SetupSystem): Promise<StackTool[]> {
  const missing: StackTool[] = [];
  for (const tool of STACK_TOOLS) {
    const path = findTool(tool, system.dirs);
    if (path) system.print(`${tool} found: ${path}`);
    else missing.push(tool);
  }
  if (missing.length === 0) return [];

  const aptGet = findTool('apt-get', system.dirs);
  if (!aptGet || !system.isRoot) {
    reportMissing(missing, system);
    return missing;
  }
  system.print(`Installing ${missing.join(' and ')} with apt-get; their system services are not started.`);
  try {
    await install(aptGet, missing, system);
  } catch (error) {
    system.print(`apt-get failed: ${(error as Error).message}`);
  }
  const stillMissing = missing.filter((tool) => !findTool(tool, system.dirs));
  for (const tool of missing) {
    const path = findTool(tool, system.dirs);
    if (path) system.print(`${tool} installed: ${path}`);
  }
  if (stillMissing.length > 0) reportMissing(stillMissing, system);
  return stillMissing;
}

function reportMissing(missing: StackTool[], { print }: SetupSystem): void {
  print(
    `${describeMissingTools(missing)}. Without ${missing.length > 1 ? 'them' : 'it'}, runs use the embedded profile: one worker, no proxy. For the whole bundled deployment, install ${missing.length > 1 ? 'them' : 'it'} (as root: apt-get install ${missing.join(' ')}; macOS: brew install nginx redis).`,
  );
}

async function install(aptGet: string, tools: StackTool[], system: SetupSystem): Promise<void> {
  // Avoids SIGKILL, which could interrupt dpkg in the middle of a package.
  const options = { env: { DEBIAN_FRONTEND: 'noninteractive' }, forceKillAfterDelay: false } as const;
  await execa(aptGet, ['update', '-q'], options);
  const liftBan = banServiceStarts(system.policyFile);
  try {
    await execa(aptGet, ['install', '-y', '-q', '--no-install-recommends', ...tools], options);
  } finally {
    liftBan();
    await disableServices(tools, system);
  }
}

/**
 * Writes a `policy-rc.d` that forbids Debian's packages to start services (exit code 101). An existing file, as in
 * containers, is not changed. The written file permits everything once this process has ended, even if the process was
 * killed.
 * @returns a function that removes the file
 */
function banServiceStarts(policyFile: string): () => void {
  const mark = '# socketio-capacity setup';
  if (existsSync(policyFile) && !readFileSync(policyFile, 'utf8').includes(mark)) return () => {};
  writeFileSync(policyFile, `#!/bin/sh\n${mark}\nkill -0 ${process.pid} 2>/dev/null && exit 101\nexit 0\n`, {
    mode: 0o755,
  });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const liftBan = () => {
    for (const signal of signals) process.off(signal, onSignal);
    rmSync(policyFile, { force: true });
  };
  const onSignal = (signal: NodeJS.Signals) => {
    liftBan();
    process.kill(process.pid, signal);
  };
  for (const signal of signals) process.on(signal, onSignal);
  return liftBan;
}

/**
 * Disables the services, so that they do not start at the next boot. Only services of programs that were just installed
 * are disabled.
 */
async function disableServices(tools: StackTool[], { dirs }: SetupSystem): Promise<void> {
  const systemctl = findTool('systemctl', dirs);
  const installed = tools.filter((tool) => findTool(tool, dirs));
  if (systemctl && installed.length > 0) await execa(systemctl, ['disable', ...installed], { reject: false });
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await setUpStackTools({
    dirs: toolSearchDirs(),
    isRoot: process.getuid?.() === 0,
    policyFile: '/usr/sbin/policy-rc.d',
    print: (line) => console.log(line),
  });
}
