/** Scenarios as people write them for other engines, and a server that counts what one of their users sends. */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parse } from 'yaml';
import CapacityEngine from '../../plugin/engine/engine.ts';
import { Fleet } from '../../plugin/fleet/fleet.ts';
import type { Scenario, Script } from '../../plugin/script/script.ts';
import { startChat } from './chat-server.ts';
import { FUNCTIONS } from './engine-run.ts';
import { eventually } from './poll.ts';
import type { Cleaner } from './raw-listen.ts';
import { helpers } from './virtual-user.ts';

type Counts = Record<string, number>;

/** Comments at the beginning of a shape. Counts are those of one user per scenario. */
interface Header {
  /** Expected counts of a run on this engine, after `adopt`. */
  counts: Counts;
  /** Counts with the engine it was written for, if they differ; `none` if that cannot play it. */
  before?: Counts | 'none';
  /** Events that the server sends after an event. */
  replies?: Record<string, string>;
  /** Parts of the refusal by this engine without `adopt`. */
  refused?: string[];
}

const FOLDER = fileURLToPath(new URL('../fixtures/shapes/', import.meta.url));
const WRITTEN_TARGET = '//localhost:3000';
const TOKEN = 'let me in';
/** An acknowledgement that never comes keeps a user of another engine for ever. */
const LIMIT_MS = 15_000;

export function readShapes() {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.yml'));
  return files.map((file) => {
    const text = readFileSync(join(FOLDER, file), 'utf8');
    const header = text.slice(0, text.search(/^[^#]/m)).replaceAll(/^# /gm, '');
    return { name: file.slice(0, -4), path: join(FOLDER, file), text, ...(parse(header) as Header) };
  });
}

/** Starts a server that acknowledges everything, and counts. @returns also the text with its address */
export async function startCounting(t: Cleaner, text: string, replies: Record<string, string> = {}) {
  let counts: Counts = {};
  const count = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  const { io, url } = await startChat(t, () => {}, {
    onRequest: ({ method, url: path }, response) => {
      count(`${method} ${path}`);
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ token: TOKEN }));
    },
  });
  io.engine.on('connection', () => count('connections'));
  for (const namespace of [io.of('/'), io.of(/./)]) {
    namespace.on('connection', (socket) => {
      if (socket.nsp.name !== '/') count(`connects ${socket.nsp.name}`);
      const { auth, query, headers } = socket.handshake;
      if ([auth.token, query.token, headers['x-token']].includes(TOKEN)) count('token');
      socket.onAny((event, ...args) => {
        count(event);
        const [first] = args;
        const answer = { ok: true, id: 7 };
        const acknowledge = args.at(-1);
        if (typeof acknowledge === 'function') {
          count('acks');
          acknowledge(answer);
        }
        if (replies[event]) socket.emit(replies[event], typeof first === 'string' ? first : answer);
      });
    });
  }
  return {
    text: text.replaceAll(WRITTEN_TARGET, url.slice('http:'.length)),
    /** Returns the counts since the last call, once all clients have left. */
    async counted(): Promise<Counts> {
      await eventually('all clients left', () => io.engine.clientsCount === 0, LIMIT_MS);
      const found = counts;
      counts = {};
      return found;
    },
  };
}

interface Engine {
  createScenario(scenario: Scenario, events: object): (context: object, done: (error: unknown) => void) => void;
  init?(): Promise<void>;
  close?(): Promise<void>;
}

/** Plays each scenario of the script once, on the engine that it names. @returns this engine's counters */
export async function playEach(script: Script, path: string): Promise<Counts> {
  const read = { ...script, config: await configOf(script, path), scenarios: flattened(script) };
  const engines = new Map<string, Engine>();
  const counters: Counts = {};
  const emit = (kind: string, name: string, value = 1) => {
    const key = kind === 'error' ? `errors.${name}` : name;
    if (kind === 'counter' || kind === 'error') counters[key] = (counters[key] ?? 0) + value;
  };
  try {
    for (const { engine = 'http' } of read.scenarios) {
      if (!engines.has(engine)) engines.set(engine, await startEngine(engine, read));
    }
    await Promise.all(
      read.scenarios.map((scenario) => {
        const play = engines.get(scenario.engine ?? 'http')?.createScenario(scenario, { emit, on: () => {} });
        const context = { vars: variablesOf(read, path), funcs: FUNCTIONS, scenario, _uid: 'user' };
        return Promise.race([new Promise((done) => play?.(context, done)), delay(LIMIT_MS, 0, { ref: false })]);
      }),
    );
  } finally {
    await Promise.all([...engines.values()].map((engine) => engine.close?.()));
  }
  return counters;
}

async function startEngine(name: string, script: Script): Promise<Engine> {
  const runtime = { testRunId: 'shapes', engineId: '1', isWorker: true, warn() {}, fail() {}, abort: report };
  const events = { on: () => {} };
  const engine: Engine =
    name === 'socketio-capacity'
      ? (new CapacityEngine(script, events, helpers, { runtime, startFleet: Fleet.here }) as never)
      : new (await otherEngine(name))(script, events, helpers);
  await engine.init?.();
  return engine;
}

function report(error: Error): never {
  throw error;
}

async function otherEngine(name: string) {
  const require = createRequire(import.meta.url);
  if (name === 'socketio-v3') return require('artillery-engine-socketio-v3');
  const artillery = dirname(require.resolve('artillery/package.json'));
  return (await import(pathToFileURL(join(artillery, `dist/lib/core/engine_${name}.js`)).href)).default;
}

/** Returns the configuration with the functions of the processor, and without plugins. */
async function configOf({ config: { plugins: _, ...config } }: Script, path: string): Promise<Script['config']> {
  if (typeof config.processor !== 'string') return config;
  return { ...config, processor: { ...(await import(resolve(dirname(path), config.processor))).default } };
}

function flattened({ scenarios = [] }: Script): Scenario[] {
  // Artillery joins lists of steps in a flow.
  return scenarios.map((scenario) => ({ ...scenario, flow: [scenario.flow ?? []].flat(2) }));
}

/** Returns a virtual user's variables: the first row of each file, and the first of each list. */
function variablesOf({ config }: Script, path: string): Record<string, unknown> {
  const rows = [config.payload ?? []].flat().map((payload) => {
    const { path: file, fields } = payload as { path: string; fields: string[] };
    const values = readFileSync(resolve(dirname(path), file), 'utf8').split(/[,\n]/);
    return Object.fromEntries(fields.map((field, index) => [field, values[index]]));
  });
  const inline = Object.fromEntries(
    Object.entries(config.variables ?? {}).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
  );
  return Object.assign({ target: config.target, $uuid: 'user' }, ...rows, inline);
}
