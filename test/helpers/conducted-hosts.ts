/**
 * Runs a load over several hosts on this machine, without Artillery. Conductor and hosts are separate process groups.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { startApp, type TestApp } from './app.ts';
import { CLI } from './cli.ts';
import { eventually } from './poll.ts';
import { type HostProcess, processes, startProcess } from './process.ts';
import { broadcastsSent, hasReached, latestResult, quickScript } from './run.ts';
import { tempFolder } from './temp-folder.ts';

const CONDUCTOR = join(import.meta.dirname, '../fixtures/conductor.ts');
const HOST = join(import.meta.dirname, '../fixtures/generator-host.ts');
/** Number of virtual users of each host. Half of them arrive in each of two ramps. */
export const USERS = 20;

const DEFAULT_ENSURE = { thresholds: [{ 'connections.failed': 1 }] };

export interface HostsOptions {
  hosts: number;
  /** Options of the plugin. */
  options?: object;
  /** Thresholds of `ensure` that replace the default threshold. */
  ensure?: object;
  /** Environment variables of the conductor. */
  env?: Record<string, string>;
  /** Longest time that a host and the conductor may be disconnected; default: as in a real run. */
  awayMs?: number;
}

function scenario(app: TestApp, { hosts, options, ensure = DEFAULT_ENSURE }: HostsOptions): object {
  const rate = (USERS / 2) * hosts;
  const ramp = { duration: 1, arrivalRate: rate, rampTo: rate };
  const own = { control: app.control, live: true, drain: { quiet: 0.3, deadline: 3 }, ...options };
  const { config, scenarios } = quickScript({ target: app.url, phases: [ramp, { pause: 2 }, ramp, { pause: 2 }] }, own);
  return { config: { ...config, plugins: { ...config.plugins, ensure: {} }, ensure }, scenarios };
}

/** Starts a server, and a conductor that waits for its hosts. All processes end with the test. */
export async function conductHosts(t: TestContext, options: HostsOptions) {
  const { hosts, awayMs, env: own = {} } = options;
  const setup = await prepare(t, options);
  const listen = ['--hosts', String(hosts), '--listen', '127.0.0.1:0'];
  const args =
    awayMs === undefined
      ? [CLI, 'conduct', ...listen, setup.file]
      : [CONDUCTOR, setup.file, String(hosts), String(awayMs)];
  const run = start(t, args, setup.folder, own);
  const [, joinToken = ''] = await run.said(/CAPACITY_CONDUCTOR='([^']+)'/);
  const port = Number(/:(\d+)#/.exec(joinToken)?.[1]);
  const whileRunning = (what: string, happened: () => Promise<boolean> | boolean | undefined) =>
    eventually(what, () => run.child.exitCode !== null || happened(), 120_000, run.output);
  return {
    ...run,
    ...setup,
    /** Port of the conductor for hosts. */
    port,
    /**
     * Starts a host.
     * @param env environment of the host
     * @param port port for connections to the conductor; default: the conductor's port
     */
    host: (index: number, { env = {}, port: via = port }: { env?: Record<string, string>; port?: number } = {}) => {
      const limit = awayMs === undefined ? [] : [String(awayMs)];
      return start(t, [HOST, setup.file, ...limit], setup.folder, {
        CAPACITY_CONDUCTOR: joinToken.replace(`:${port}#`, `:${via}#`),
        CAPACITY_HOSTS: String(hosts),
        CAPACITY_HOST: String(index),
        ...env,
      });
    },
    /** Waits until the conductor has started the stage, or has ended. */
    reached: (stage: string) => whileRunning(`stage ${stage}`, () => hasReached(setup.result(), stage)),
    /** Waits until this number of broadcasts has been sent, or the conductor has ended. */
    sent: (count: number) =>
      whileRunning(`${count} broadcasts`, async () => (await broadcastsSent(run.output())) >= count),
  };
}

/** Starts the same run with a single host, which generates the whole load and conducts the run. */
export async function runAlone(t: TestContext, options: HostsOptions) {
  const setup = await prepare(t, options);
  return { ...start(t, [HOST, setup.file], setup.folder, {}), ...setup };
}

async function prepare(t: TestContext, options: HostsOptions) {
  const app = await startApp(t);
  const folder = tempFolder(t);
  const file = join(folder, 'scenario.json');
  writeFileSync(file, JSON.stringify(scenario(app, options)));
  const results = join(folder, 'results');
  return {
    ...{ app, folder, file },
    result: () => latestResult(results),
  };
}

function start(t: TestContext, args: string[], folder: string, own: Record<string, string>): HostProcess {
  const none = { NODE_OPTIONS: '', CAPACITY_CONDUCTOR: '', CAPACITY_HOSTS: '', CAPACITY_HOST: '' };
  const started = startProcess(t, process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    ...{ cwd: folder, detached: true, env: { ...process.env, ...none, ...own } },
  });
  const running = () => processes().flatMap(({ group, command }) => (group === started.pid ? command : []));
  return { ...started, running };
}

/** Asserts that no process of the run and no connection to the server remains. */
export async function assertNothingLeft({ app }: { app: TestApp }, processes: HostProcess[]): Promise<void> {
  await eventually('the end of all processes', () => processes.every(({ running }) => running().length === 0));
  await eventually('the end of all connections', () => app.io.engine.clientsCount === 0);
}
