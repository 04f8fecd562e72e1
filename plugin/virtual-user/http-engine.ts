/** Artillery's own HTTP engine, on which the HTTP steps of a flow run. */
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CapacityError } from '../../protocol/errors.ts';
import type { Script } from '../script/script.ts';
import type { ScenarioEvents, UserContext } from './types.ts';

/** Hooks of a scenario that its HTTP requests call, too. */
export interface RequestHooks {
  beforeRequest: string[];
  afterResponse: string[];
  onError: string[];
}

export interface HttpEngine {
  /** Gives a virtual user its cookie jar and agents. */
  setInitialContext(context: UserContext): void;
  step(
    spec: unknown,
    events: ScenarioEvents,
    hooks: RequestHooks,
  ): (context: UserContext, done: (error?: unknown) => void) => void;
}

/** @returns the cookies from the virtual user's HTTP requests that a browser would send there, as a header; '' without any */
export function cookiesFor({ _jar: jar }: UserContext, url: URL): string {
  return (jar as { getCookieStringSync(url: string): string } | undefined)?.getCookieStringSync(url.href) ?? '';
}

/** Artillery exports its engines to nobody, so this one is loaded from its file. */
const PATH = 'dist/lib/core/engine_http.js';

/** @throws CapacityError `NOT_INSTALLED` */
export async function loadHttpEngine(script: Script): Promise<HttpEngine> {
  const file = join(artilleryFolder(), PATH);
  try {
    const { default: Engine } = await import(pathToFileURL(file).href);
    const engine = new Engine(script);
    await engine.init();
    return engine;
  } catch (error) {
    throw missing(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The program of the process is Artillery's; in a test, Artillery is installed beside the engine. */
export function artilleryFolder(): string {
  for (const from of [process.argv[1] ?? import.meta.filename, import.meta.filename]) {
    try {
      return dirname(createRequire(realpathSync(from)).resolve('artillery/package.json'));
    } catch {
      // not from there
    }
  }
  throw missing('no Artillery beside the engine');
}

function missing(reason: string): CapacityError {
  const message = `the flow has HTTP steps, but Artillery's HTTP engine cannot be loaded: ${reason}`;
  return new CapacityError('NOT_INSTALLED', message, 'install artillery 2.0.34, or use function steps with fetch()');
}
