/**
 * Loads internal modules of Artillery from their files. In worker threads, Artillery passes these modules to engines.
 * The run needs them in the main thread, for its own clients.
 */
import { randomUUID } from 'node:crypto';
import { realpathSync } from 'node:fs';
import type { Agent } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { scriptFolder } from '../script/options/files.ts';
import type { Scenario, Script } from '../script/script.ts';
import type { ArtilleryHelpers, ScenarioEvents, ScenarioFunction, UserContext } from './user-types.ts';

/**
 * Returns the folder of Artillery, which is the program of this process. In a test, it is the package installed beside
 * the engine.
 */
export function artilleryFolder(): string {
  for (const from of [process.argv[1] ?? import.meta.filename, import.meta.filename]) {
    try {
      return dirname(createRequire(realpathSync(from)).resolve('artillery/package.json'));
    } catch {
      // Artillery is not installed beside this file, so the next file is tried.
    }
  }
  throw new CapacityError('NOT_INSTALLED', 'no Artillery beside the engine', 'install artillery 2.0.34');
}

/**
 * Imports an internal module of Artillery.
 * @param file path of a module in Artillery's folder
 */
async function importArtillery<T>(file: string, folder: string): Promise<T> {
  return (await import(pathToFileURL(join(folder, file)).href)) as T;
}

export function loadArtilleryHelpers(folder: string): Promise<ArtilleryHelpers> {
  return importArtillery('dist/lib/commons/engine_util.js', folder);
}

/** Names of processor functions that are also called for a scenario's HTTP requests. */
export interface RequestHooks {
  beforeRequest: string[];
  afterResponse: string[];
  onError: string[];
}

export interface ArtilleryEngine {
  createScenario(scenario: Scenario, events: ScenarioEvents): ScenarioFunction;
}

/** Pending request of the package `got`: a promise that emits events. */
interface Sending extends Promise<unknown> {
  on(event: 'request', listener: (request: NodeJS.EventEmitter) => void): this;
}

export interface HttpEngine extends ArtilleryEngine {
  /** Sends a request. Set by the method `init`. */
  request(options: unknown): Sending;
  /** Creates the cookie jar and HTTP agents of a virtual user. */
  setInitialContext(context: UserContext): void;
  step(
    spec: unknown,
    events: ScenarioEvents,
    hooks: RequestHooks,
  ): (context: UserContext, done: (error?: unknown) => void) => void;
}

/**
 * Returns the `Cookie` header that a browser would send to the URL, with cookies from the virtual user's HTTP requests.
 * '' without cookies.
 */
export function cookiesFor({ _jar: jar }: UserContext, url: URL): string {
  return (jar as { getCookieStringSync(url: string): string } | undefined)?.getCookieStringSync(url.href) ?? '';
}

/** Closes the virtual user's HTTP sockets, which Artillery would keep open. */
export function closeHttpSockets({ _httpAgent, _httpsAgent }: UserContext): void {
  for (const agent of [_httpAgent, _httpsAgent]) (agent as Agent | undefined)?.destroy();
}

type Engine<T extends ArtilleryEngine> = new (script: Script, ...createdWith: unknown[]) => T & { init?(): unknown };

/**
 * Loads Artillery's HTTP engine.
 * @param folder folder of Artillery; undefined to find it
 * @throws CapacityError `NOT_INSTALLED`
 */
export async function loadHttpEngine(script: Script, folder?: string): Promise<HttpEngine> {
  try {
    const file = 'dist/lib/core/engine_http.js';
    const module = await importArtillery<{ default: Engine<HttpEngine> }>(file, folder ?? artilleryFolder());
    return await created(module.default, script);
  } catch (cause) {
    const message = "the flow has HTTP steps, but Artillery's HTTP engine cannot be loaded";
    const fix = 'install artillery 2.0.34, or use function steps with fetch()';
    throw new CapacityError('NOT_INSTALLED', message, fix, { cause });
  }
}

async function created<T extends ArtilleryEngine>(Engine: Engine<T>, script: Script, createdWith: unknown[] = []) {
  const engine = new Engine(script, ...createdWith);
  await engine.init?.();
  return engine;
}

/**
 * Loads a third-party engine in the same way as Artillery.
 * @param createdWith arguments of its constructor that follow the script
 */
export async function loadEngine(name: string, script: Script, createdWith: unknown[]): Promise<ArtilleryEngine> {
  const folder = artilleryFolder();
  type Loaders = { loadBuiltinPackage(name: string): Promise<Engine<ArtilleryEngine>> };
  const load = async () =>
    name === 'ws'
      ? (await importArtillery<{ default: Engine<ArtilleryEngine> }>('dist/lib/core/engine_ws.js', folder)).default
      : (await importArtillery<Loaders>('dist/lib/builtin-packages.js', folder)).loadBuiltinPackage(
          `artillery-engine-${name}`,
        );
  return created(await load(), script, createdWith);
}

/**
 * Loads the processor, and returns its functions by name.
 * @throws CapacityError `FILE_UNREADABLE`
 */
export async function loadProcessor(script: Script): Promise<Record<string, unknown>> {
  const { processor } = script.config;
  if (typeof processor !== 'string') return processor ?? {};
  const path = resolve(scriptFolder(script), processor);
  try {
    const module = await import(pathToFileURL(createRequire(import.meta.url).resolve(path)).href);
    return { ...module.default, ...module };
  } catch (cause) {
    const [why] = (cause as Error).message.split('\n');
    const fix = 'correct config.processor, or that file';
    throw new CapacityError('FILE_UNREADABLE', `the processor ${path} cannot be loaded: ${why}`, fix, { cause });
  }
}

/**
 * Returns the context of a virtual user.
 * @param vars variables of one virtual user, such as its row of the payload
 */
export function createUserContext(
  script: Script,
  helpers: ArtilleryHelpers,
  vars: Record<string, unknown>,
): UserContext {
  const { config, _environment, _scriptPath } = script;
  const shared = {
    target: config.target,
    ...{ $environment: _environment, $processEnvironment: process.env, $env: process.env, $scenarioFile: _scriptPath },
    ...{ $dirname: scriptFolder(script), $testId: testRunId() },
  };
  const inline = Object.entries((config.variables ?? {}) as Record<string, unknown>).map(([name, value]) => [
    name,
    Array.isArray(value) ? value[Math.floor(Math.random() * value.length)] : value,
  ]);
  const id = randomUUID();
  const context: UserContext = {
    vars: { ...shared, ...vars, ...Object.fromEntries(inline), $uuid: id },
    funcs: {
      $randomNumber: (min, max) => Number(min) + Math.floor(Math.random() * (Number(max) - Number(min) + 1)),
      $randomString: (length = 10) =>
        Array.from({ length: Number(length) }, () => Math.floor(Math.random() * 36).toString(36)).join(''),
      $template: (input) => helpers.template(input, { vars: context.vars }),
    },
    _uid: id,
  };
  return context;
}

function testRunId(): string | undefined {
  return (globalThis as { artillery?: { testRunId?: string } }).artillery?.testRunId;
}
