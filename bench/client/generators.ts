/** The compared generators. A new generator is a new entry. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BENCH_TOKEN, type BenchWorker } from '../worker.ts';
import { FLOOR_LABEL, WITHOUT_PLUGIN_LABEL } from './columns.ts';
import { GeneratorProgram, type MeasuredGenerator, type StartedGenerator } from './measured-generator.ts';
import { type BenchLoad, JOIN_MESSAGE, loadTlsOptions } from './programs/load-program.ts';

const ENGINE = 'socketio-capacity';
/** Generators that the option `--events` compares. */
export const EVENT_GENERATORS = ['node', 'capacity', 'engine', 'deep', 'list', 'unreadable', 'uncounted'];

/** Seconds between Artillery's first phase and the ramp. Work of its start ends in this time. */
const LEAD_SECONDS = 6;
/** The same for the plugin. The bench awaits a progress line of the plugin, which prints one every 10 seconds. */
const PLUGIN_LEAD_SECONDS = 14;
/** Seconds after the ramp for the windows of the bench (measure-clients.ts). */
const HOLD_SECONDS = 20;

/** Generators of the option `--measuring`: the same virtual users without and with the plugin. */
export const MEASURING_GENERATORS: MeasuredGenerator[] = [
  {
    name: 'without',
    label: WITHOUT_PLUGIN_LABEL,
    // The plugin's users wait for the acknowledgement of their join, so these users also do.
    start: startExternal(ENGINE, [{ emit: JOIN_MESSAGE, acknowledge: {} }, { hold: true }]),
  },
  // Without the plugin, no short connections are opened before the ramp.
  { name: 'with', label: 'with the plugin', start: startCapacity({ warmUp: 0 }) },
];

export const GENERATORS: MeasuredGenerator[] = [
  {
    name: 'floor',
    label: FLOOR_LABEL,
    tool: { command: 'cc', version: ['-dumpfullversion'], install: 'apt-get install gcc libssl-dev' },
    start: startFloor,
  },
  { name: 'capacity', label: 'socketio-capacity in Artillery', start: startCapacity() },
  { name: 'engine', label: 'socketio-capacity in Artillery, without its plugin', start: startExternal(ENGINE) },
  { name: 'light', label: 'socketio-capacity, light client alone', start: (load) => startFleet(load) },
  // Shows which part of the light client's cost is Node's own.
  { name: 'node', label: "Node's TCP handle, minimal", onRequest: true, start: startScript('tcp-handle') },
  ownEvent('deep', 'own event, id behind the text'),
  ownEvent('list', 'own event, two ids in a list'),
  ownEvent('unreadable', 'own event without an id'),
  ownEvent('uncounted', 'event that nothing counts'),
  { name: 'ws', label: 'ws', start: startScript('ws') },
  { name: 'socket.io-client', label: 'socket.io-client', start: startScript('socket-io-client') },
  { name: 'socketio-v3', label: 'artillery-engine-socketio-v3', start: startExternal('socketio-v3') },
  { name: 'socketio', label: "Artillery's own socketio engine", start: startExternal('socketio') },
  {
    name: 'k6',
    label: 'k6',
    tool: { command: 'k6', version: ['version'], install: 'go install go.k6.io/k6@latest' },
    start: startK6,
  },
  {
    name: 'locust',
    label: 'Locust',
    tool: {
      command: 'locust',
      version: ['--version'],
      install: "pip install locust 'python-socketio[client]'",
    },
    start: startLocust,
  },
];

async function startFloor(load: BenchLoad, _worker: BenchWorker, folder: string): Promise<StartedGenerator> {
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
  return startProgram(new GeneratorProgram(binary, args));
}

/**
 * Starts the product's fleet processes alone, which are the cheapest complete client. The server bench also uses
 * it.
 */
export const startFleet = startScript('fleet-program');

function startScript(name: string, options: string[] = []) {
  return (load: BenchLoad) =>
    startProgram(
      new GeneratorProgram(process.execPath, [
        '--disable-warning=ExperimentalWarning',
        pathOf(`programs/${name}.ts`),
        JSON.stringify(load),
        ...options,
      ]),
    );
}

/** @param name mode of the program, and shape of the messages */
function ownEvent(name: string, label: string): MeasuredGenerator {
  const start = startScript('fleet-program', [name]);
  return {
    name,
    label,
    onRequest: true,
    start: (load, worker) => {
      worker.tell(name);
      return start(load);
    },
  };
}

async function startProgram(program: GeneratorProgram): Promise<StartedGenerator> {
  await readyOrKilled(program, /^ready$/);
  const finish = async () => {
    await program.line(/^joined$/);
    await program.end();
    return receivedBy(program);
  };
  return startedBy(program, finish, { ramp: async () => program.send('go') });
}

/** Generator whose ramp starts by itself. `parts` can replace this. */
function startedBy(
  program: GeneratorProgram,
  finish: StartedGenerator['finish'],
  parts: Partial<StartedGenerator> = {},
): StartedGenerator {
  return { tree: program.tree, ramp: async () => {}, finish, close: () => program.kill(), ...parts };
}

async function receivedBy(program: GeneratorProgram): Promise<number> {
  return JSON.parse(await program.line(/^\{"joined":/)).received;
}

/** Returns a ramp with a constant rate. Without `rampTo`, Artillery busy-waits in a phase. */
function rampOf({ connections, ratePerSec }: BenchLoad): Record<string, unknown> {
  return { duration: connections / ratePerSec, arrivalRate: ratePerSec, rampTo: ratePerSec };
}

/**
 * Starts the whole product: engine, fleet processes and plugin, with ledger, live page and samples. At the end, it sends
 * a broadcast to check the ledger.
 */
function startCapacity(options: Record<string, unknown> = {}) {
  return async (load: BenchLoad, worker: BenchWorker, folder: string): Promise<StartedGenerator> => {
    const results = join(folder, 'results');
    const control = { urls: [worker.controlUrl], token: BENCH_TOKEN };
    const plugin = { control, live: true, hold: 0, broadcasts: { count: 1 }, results, ...options };
    const script = {
      config: { plugins: { [ENGINE]: plugin }, engines: { [ENGINE]: {} } },
      scenarios: [{ engine: ENGINE, flow: [{ emit: JOIN_MESSAGE }, { hold: true }] }],
    };
    // Waits for the plugin's output. The plugin moves Artillery's own output to a file.
    const program = await startArtillery(load, folder, script, { pattern: /· 0 \//, leadSeconds: PLUGIN_LEAD_SECONDS });
    return startedBy(program, async () => {
      await program.end();
      const { delivery, verdict } = JSON.parse(readFileSync(join(results, 'latest', 'result.json'), 'utf8'));
      if (delivery?.coverage !== 1) throw new Error(`coverage ${delivery?.coverage}: ${JSON.stringify(verdict)}`);
      return undefined;
    });
  };
}

/** @param flow join, and a step that keeps the virtual users until the end; other engines have no `hold` */
function startExternal(
  engine: string,
  flow: object[] = [{ emit: externalEmit(engine) }, { think: HOLD_SECONDS + 60 }],
) {
  return async (load: BenchLoad, _worker: BenchWorker, folder: string): Promise<StartedGenerator> => {
    const program = await startArtillery(load, folder, {
      config: {
        engines: { [engine]: {} },
        socketio: { transports: ['websocket'] },
        'socketio-v3': { transports: ['websocket'] },
      },
      scenarios: [{ engine, flow }],
    });
    return startedBy(program, async () => {
      await program.kill();
      return undefined;
    });
  };
}

/** Returns the `emit` step. The built-in engine supports only the form with `channel` and `data`. */
function externalEmit(engine: string): unknown {
  return engine === 'socketio' ? { channel: JOIN_MESSAGE[0], data: JOIN_MESSAGE[1] } : JOIN_MESSAGE;
}

interface Script {
  config: Record<string, unknown>;
  scenarios: unknown[];
}

async function startArtillery(
  load: BenchLoad,
  folder: string,
  script: Script,
  { pattern, leadSeconds } = { pattern: /Phase started: .*index: 0/, leadSeconds: LEAD_SECONDS },
): Promise<GeneratorProgram> {
  const phases = [
    { name: 'lead', pause: leadSeconds },
    { name: 'ramp', ...rampOf(load) },
    { name: 'held', pause: HOLD_SECONDS },
  ];
  const config = { target: load.url, tls: loadTlsOptions(load), phases, ...script.config };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'script.json'), JSON.stringify({ ...script, config }));
  const artillery = join(dirname(createRequire(import.meta.url).resolve('artillery/package.json')), 'bin/run');
  // Artillery resolves engines and plugins from its working directory.
  const program = new GeneratorProgram(
    process.execPath,
    [artillery, 'run', join(folder, 'script.json')],
    { ...process.env, ARTILLERY_DISABLE_TELEMETRY: 'true', NODE_OPTIONS: '', NO_COLOR: '1' },
    pathOf('../..'),
  );
  await readyOrKilled(program, pattern);
  return program;
}

async function startK6(load: BenchLoad): Promise<StartedGenerator> {
  const program = new GeneratorProgram(
    'k6',
    ['run', '--quiet', '--no-usage-report', '--address', '', pathOf('programs/k6.js')],
    {
      ...environmentOf(load),
      LEAD_SECONDS: String(LEAD_SECONDS),
    },
  );
  await readyOrKilled(program, /\bstart\b/);
  const startBytes = program.tree.pssBytes();
  await readyOrKilled(program, /\bready\b/);
  const finish = () => {
    program.interrupt();
    return receivedBy(program);
  };
  return startedBy(program, finish, { startBytes });
}

function startLocust(load: BenchLoad, _worker: BenchWorker, folder: string): Promise<StartedGenerator> {
  const { url, connections, ratePerSec } = load;
  const users = ['--users', String(connections), '--spawn-rate', String(ratePerSec), '--host', url];
  const args = ['--headless', '--skip-log', '--only-summary', '--locustfile', pathOf('programs/locust.py'), ...users];
  return startProgram(new GeneratorProgram('locust', args, environmentOf(load), folder));
}

function environmentOf(load: BenchLoad): NodeJS.ProcessEnv {
  return { ...process.env, LOAD: JSON.stringify(load), ...(load.caFile && { SSL_CERT_FILE: load.caFile }) };
}

async function readyOrKilled(program: GeneratorProgram, pattern: RegExp): Promise<void> {
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
