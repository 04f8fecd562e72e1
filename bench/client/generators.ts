/** The generators that are compared. To add one, add an entry. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TOKEN, type Worker } from '../worker.ts';
import { Program, type Started } from './generator.ts';
import { JOIN, type Load, trustOf } from './programs/program.ts';

export interface Generator {
  name: string;
  /** In the table and the chart. */
  label: string;
  /** @param folder for its files @returns when it is ready to ramp up */
  start(load: Load, worker: Worker, folder: string): Promise<Started>;
  /** Why it cannot be measured here; undefined if it can. */
  missing?: (tls: boolean) => string | undefined;
}

/** Time between Artillery's first phase and the ramp, in which its start-up settles. */
const LEAD_SECONDS = 6;
/** From the ramp's end; the bench needs it for its windows, see measure.ts. */
const HOLD_SECONDS = 34;

export const GENERATORS: Generator[] = [
  { name: 'floor', label: 'bare epoll client in C', start: startFloor, missing: missingFloor },
  { name: 'capacity', label: 'socketio-capacity in Artillery', start: startCapacity(oneEach) },
  { name: 'one-for-all', label: 'socketio-capacity in Artillery, one virtual user', start: startCapacity(oneForAll) },
  { name: 'light', label: 'socketio-capacity, light client alone', start: (load) => startFleet(load) },
  {
    name: 'own-event',
    label: 'socketio-capacity, light client alone, as an own event',
    start: startScript('fleet', ['own']),
  },
  {
    name: 'light-default',
    label: 'socketio-capacity, light client alone, polling first',
    start: pollingFirst('fleet'),
  },
  { name: 'ws', label: 'ws', start: startScript('ws') },
  { name: 'socket.io-client', label: 'socket.io-client', start: startScript('socket-io-client') },
  {
    name: 'socket.io-client-default',
    label: 'socket.io-client, polling first',
    start: pollingFirst('socket-io-client'),
  },
  { name: 'socketio-v3', label: 'artillery-engine-socketio-v3', start: startExternal('socketio-v3') },
  { name: 'socketio', label: "Artillery's own socketio engine", start: startExternal('socketio') },
  { name: 'k6', label: 'k6', start: startK6, missing: () => (hasK6() ? undefined : 'not installed') },
];

async function startFloor(load: Load, _worker: Worker, folder: string): Promise<Started> {
  const binary = join(folder, 'floor');
  const tls = load.caFile === undefined ? [] : ['-DFLOOR_TLS', '-lssl', '-lcrypto'];
  execFileSync('cc', ['-O2', '-Wall', '-D_GNU_SOURCE', '-o', binary, pathOf('floor.c'), ...tls], { stdio: 'inherit' });
  const { hostname, port } = new URL(load.url);
  const args = [
    hostname,
    port,
    String(load.connections),
    String(load.ratePerSec),
    ...(load.caFile ? [load.caFile] : []),
  ];
  return startProgram(new Program(binary, args));
}

function missingFloor(tls: boolean): string | undefined {
  if (!tls) return undefined;
  const probe = ['-E', '-include', 'openssl/ssl.h', '-x', 'c', '/dev/null'];
  const { status } = spawnSync('cc', probe, { stdio: 'ignore' });
  return status === 0 ? undefined : "OpenSSL's headers are missing (apt-get install libssl-dev)";
}

/** The least expensive complete client; the server bench uses it, too. */
export const startFleet = startScript('fleet');

function startScript(name: string, options: string[] = []) {
  return (load: Load) =>
    startProgram(
      new Program(process.execPath, [
        '--disable-warning=ExperimentalWarning',
        pathOf(`programs/${name}.ts`),
        JSON.stringify(load),
        ...options,
      ]),
    );
}

/** With the default transports of socket.io-client: polling, then the upgrade to WebSocket. */
function pollingFirst(name: string) {
  const start = startScript(name);
  return (load: Load) => start({ ...load, transports: ['polling', 'websocket'] });
}

async function startProgram(program: Program): Promise<Started> {
  await readyOrKilled(program, /^ready$/);
  return {
    tree: program.tree,
    ramp: async () => program.send('go'),
    finish: async () => {
      await program.line(/^joined$/);
      await program.end();
      const { received } = JSON.parse(await program.line(/^\{"joined":/));
      return received;
    },
    close: () => program.kill(),
  };
}

/**
 * The whole product: engine, fleet, plugin; ledger and histograms on. Its own broadcast at the end checks the ledger.
 */
function startCapacity(arrange: (load: Load) => Arrangement) {
  return (load: Load, worker: Worker, folder: string) => startPlugin(load, worker, folder, arrange(load));
}

/** How virtual users and connections arrive, in flat ramps, as Artillery spins a core for all others. */
interface Arrangement {
  ramp: Record<string, unknown>;
  join: Record<string, unknown>;
}

function oneEach({ connections, ratePerSec }: Load): Arrangement {
  return {
    ramp: { duration: connections / ratePerSec, arrivalRate: ratePerSec, rampTo: ratePerSec },
    join: { emit: JOIN },
  };
}

function oneForAll({ connections, ratePerSec }: Load): Arrangement {
  return {
    ramp: { duration: 1, arrivalRate: 1, rampTo: 1 },
    join: { emit: JOIN, connect: { count: connections, ratePerSec } },
  };
}

async function startPlugin(
  load: Load,
  worker: Worker,
  folder: string,
  { ramp, join: step }: Arrangement,
): Promise<Started> {
  const results = join(folder, 'results');
  const program = await startArtillery(load, folder, ramp, {
    config: {
      plugins: {
        'socketio-capacity': {
          control: { urls: [worker.controlUrl], token: TOKEN },
          hold: 0,
          broadcasts: { count: 1 },
          results,
        },
      },
      engines: { 'socketio-capacity': {} },
    },
    scenarios: [{ engine: 'socketio-capacity', flow: [step, { hold: true }] }],
  });
  return artilleryStarted(program, async () => {
    await program.end();
    const { delivery, verdict } = JSON.parse(readFileSync(join(results, 'latest', 'result.json'), 'utf8'));
    if (delivery?.coverage !== 1) throw new Error(`coverage ${delivery?.coverage}: ${JSON.stringify(verdict)}`);
  });
}

function startExternal(engine: string) {
  return async (load: Load, _worker: Worker, folder: string): Promise<Started> => {
    const program = await startArtillery(load, folder, oneEach(load).ramp, {
      config: {
        engines: { [engine]: {} },
        socketio: { transports: ['websocket'] },
        'socketio-v3': { transports: ['websocket'] },
      },
      scenarios: [{ engine, flow: [{ emit: externalEmit(engine) }, { think: HOLD_SECONDS + 60 }] }],
    });
    return artilleryStarted(program, () => program.kill());
  };
}

/** The built-in engine supports only the oldest form. */
function externalEmit(engine: string): unknown {
  return engine === 'socketio' ? { channel: JOIN[0], data: JOIN[1] } : JOIN;
}

interface Script {
  config: Record<string, unknown>;
  scenarios: unknown[];
}

async function startArtillery(
  load: Load,
  folder: string,
  ramp: Record<string, unknown>,
  script: Script,
): Promise<Program> {
  const phases = [
    { name: 'lead', pause: LEAD_SECONDS },
    { name: 'ramp', ...ramp },
    { name: 'held', pause: HOLD_SECONDS },
  ];
  const config = { target: load.url, tls: trustOf(load), phases, ...script.config };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'script.json'), JSON.stringify({ ...script, config }));
  const artillery = join(dirname(createRequire(import.meta.url).resolve('artillery/package.json')), 'bin/run');
  // Artillery resolves engines and plugins from its working directory.
  const program = new Program(
    process.execPath,
    [artillery, 'run', join(folder, 'script.json')],
    { ...process.env, ARTILLERY_DISABLE_TELEMETRY: 'true', NODE_OPTIONS: '', NO_COLOR: '1' },
    pathOf('../..'),
  );
  await readyOrKilled(program, /Phase started: .*index: 0/);
  return program;
}

function artilleryStarted(program: Program, end: () => Promise<void>): Started {
  return {
    tree: program.tree,
    ramp: async () => void (await program.line(/Phase started: .*index: 1/)),
    finish: async () => {
      await end();
      return undefined;
    },
    close: () => program.kill(),
  };
}

async function startK6(load: Load, _worker: Worker, _folder: string): Promise<Started> {
  const { url, caFile, connections, ratePerSec } = load;
  const script = pathOf('programs/k6.js');
  const program = new Program('k6', ['run', '--quiet', '--no-usage-report', '--address', '', script], {
    ...process.env,
    ...(caFile && { SSL_CERT_FILE: caFile }),
    TARGET_URL: url,
    CONNECTIONS: String(connections),
    RATE_PER_SEC: String(ratePerSec),
    LEAD_SECONDS: String(LEAD_SECONDS),
    HOLD_SECONDS: String(HOLD_SECONDS),
  });
  await readyOrKilled(program, /ready/);
  return { tree: program.tree, ramp: async () => {}, finish: async () => undefined, close: () => program.kill() };
}

function hasK6(): boolean {
  try {
    execFileSync('k6', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function readyOrKilled(program: Program, pattern: RegExp): Promise<void> {
  try {
    await program.line(pattern);
  } catch (error) {
    await program.kill();
    throw error;
  }
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
