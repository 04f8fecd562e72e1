/**
 * `npm run setup`: finds or installs nginx and redis-server. Exit codes: 0 both are installed; 4 they are not and
 * cannot be installed from here.
 */
import { pathToFileURL } from 'node:url';
import { execa, type ResultPromise } from 'execa';
import { banServiceStarts, liftLeftover } from './service-ban.ts';
import { findTool, searchDirs, type Tool, toolVersion } from './tools.ts';

/** On Debian and Ubuntu, package, program and service have the same name. */
const TOOLS: Tool[] = ['nginx', 'redis-server'];

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface SetupSystem {
  /** Folders in which programs are searched. */
  dirs: string[];
  isRoot: boolean;
  /** The file that Debian's packages run before they start a service. */
  policyFile: string;
  print(line: string): void;
}

/** Finds or installs both programs; prints one line for each. @returns the exit code */
export async function setup(system: SetupSystem): Promise<0 | 4> {
  if (system.isRoot && liftLeftover(system.policyFile)) {
    system.print(`Removed ${system.policyFile}, which a killed setup had left to keep services from starting.`);
  }
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
    if (path) system.print(`${tool} ${await toolVersion(tool, path)} installed: ${path}`);
    else system.print(`${tool} is still missing after apt-get install.`);
  }
  return stillMissing.length === 0 ? 0 : 4;
}

/**
 * Passes signals on to apt-get, which then ends in an orderly way; nothing is left half installed, and no ban remains.
 */
async function install(aptGet: string, tools: Tool[], system: SetupSystem): Promise<void> {
  let running: ResultPromise | undefined;
  let interruption: NodeJS.Signals | undefined;
  const interrupt = (signal: NodeJS.Signals) => {
    interruption = signal;
    running?.kill(signal);
  };
  const apt = async (...args: string[]) => {
    // No SIGKILL after a while: dpkg could be in the middle of a package.
    running = execa(aptGet, args, { env: { DEBIAN_FRONTEND: 'noninteractive' }, forceKillAfterDelay: false });
    await running;
    if (interruption) throw new Error(`interrupted by ${interruption}`);
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  try {
    await apt('update', '-q');
    const lift = banServiceStarts(system.policyFile);
    try {
      await apt('install', '-y', '-q', '--no-install-recommends', ...tools);
    } finally {
      lift();
      await disable(tools, system);
    }
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
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
