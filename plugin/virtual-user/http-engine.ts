/** Artillery's own HTTP engine, on which the HTTP steps of a flow run. */
import { CapacityError } from '../../protocol/errors.ts';
import type { Script } from '../script/script.ts';
import { artilleryFolder, importArtillery } from './artillery.ts';
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

type Engine = new (script: Script) => HttpEngine & { init(): Promise<void> };

/** @param folder Artillery's @throws CapacityError `NOT_INSTALLED` */
export async function loadHttpEngine(script: Script, folder?: string): Promise<HttpEngine> {
  try {
    const file = 'dist/lib/core/engine_http.js';
    const { default: Engine } = await importArtillery<{ default: Engine }>(file, folder ?? artilleryFolder());
    const engine = new Engine(script);
    await engine.init();
    return engine;
  } catch (error) {
    throw missing(error instanceof Error ? error.message : String(error));
  }
}

function missing(reason: string): CapacityError {
  const message = `the flow has HTTP steps, but Artillery's HTTP engine cannot be loaded: ${reason}`;
  return new CapacityError('NOT_INSTALLED', message, 'install artillery 2.0.34, or use function steps with fetch()');
}
