/**
 * The settings on their way from Artillery's main thread to its workers: parsed, so that nobody parses or validates them
 * twice. A worker gets what was there when it was created, and Artillery creates its workers after the plugins.
 */
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { ownRelease } from '../../protocol/base/release.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import type { Script } from './script.ts';
import type { Settings } from './settings.ts';

export const ENGINE_PACKAGE = 'artillery-engine-socketio-capacity';
export const PLUGIN_PACKAGE = 'artillery-plugin-socketio-capacity';
const KEY = 'socketio-capacity';

interface HandedOver {
  release: string;
  settings: Settings;
}

export function handOver(settings: Settings): void {
  const handed: HandedOver = { release: ownRelease(), settings };
  setEnvironmentData(KEY, handed as never);
}

/** @throws CapacityError VERSIONS_DIFFER if the plugin that has read the script is of another build, whose settings differ */
export function handedOver(): Settings {
  const { release = 'an older one', settings } = (getEnvironmentData(KEY) ?? {}) as unknown as Partial<HandedOver>;
  if (settings && release === ownRelease()) return settings;
  throw versionsDiffer(PLUGIN_PACKAGE, release, ENGINE_PACKAGE);
}

/** Key of the script's own `before`, which Artillery plays in its main thread and whose variables it gives to its workers. */
const BEFORE = `${KEY} before`;

/** To be called in the main thread, with the copy of the script from which Artillery plays `before`. */
export function keepVariablesOfBefore({ before, config }: Script): void {
  if (!before) return;
  const keep = ({ vars }: { vars: object }, _events: unknown, done: () => void) => {
    setEnvironmentData(BEFORE, JSON.stringify(vars));
    done();
  };
  config.processor = { ...(config.processor as object | undefined), [BEFORE]: keep };
  before.afterScenario = [before.afterScenario ?? [], BEFORE].flat();
}

/** @returns none if there is no `before`, or if it has not been played here */
export function variablesOfBefore(): Record<string, unknown> {
  return JSON.parse((getEnvironmentData(BEFORE) as string | undefined) ?? '{}');
}

/** @param own name of what is of this release */
export function versionsDiffer(name: string, release: string, own: string): CapacityError {
  return new CapacityError(
    'VERSIONS_DIFFER',
    `${name} is ${release}, and ${own} is ${ownRelease()}`,
    'install both from one release, beside artillery, or run both from one checkout',
  );
}
