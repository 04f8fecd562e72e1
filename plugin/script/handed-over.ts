/**
 * Passes the parsed settings from Artillery's main thread to its workers. The settings are stored in Node's environment
 * data, which a worker receives when it is created. Artillery creates the workers after the plugins.
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

export function handOverSettings(settings: Settings): void {
  const handed: HandedOver = { release: ownRelease(), settings };
  setEnvironmentData(KEY, handed as never);
}

/**
 * Returns the settings from the main thread.
 * @throws CapacityError VERSIONS_DIFFER if a plugin of a different build has stored them
 */
export function handedOverSettings(): Settings {
  const { release = 'an older one', settings } = (getEnvironmentData(KEY) ?? {}) as unknown as Partial<HandedOver>;
  if (settings && release === ownRelease()) return settings;
  throw versionsDifferError(PLUGIN_PACKAGE, release, ENGINE_PACKAGE);
}

/**
 * Key under which variables from the script's hook `before` are stored. Artillery runs `before` in the main thread
 * only.
 */
const BEFORE = `${KEY} before`;

/**
 * Adds a function to the script's hook `before` that stores the captured variables for the workers. Must be called in
 * the main thread, with the script from which Artillery runs `before`.
 */
export function keepVariablesOfBefore({ before, config }: Script): void {
  if (!before) return;
  const keep = ({ vars }: { vars: object }, _events: unknown, done: () => void) => {
    setEnvironmentData(BEFORE, JSON.stringify(vars));
    done();
  };
  config.processor = { ...(config.processor as object | undefined), [BEFORE]: keep };
  before.afterScenario = [before.afterScenario ?? [], BEFORE].flat();
}

/** Returns the variables that the script's hook `before` has captured. Empty if the script has no `before`. */
export function variablesOfBefore(): Record<string, unknown> {
  return JSON.parse((getEnvironmentData(BEFORE) as string | undefined) ?? '{}');
}

/**
 * Returns the error for packages that belong to different builds.
 * @param own package of this build; `name` should have the same version
 */
export function versionsDifferError(name: string, release: string, own: string): CapacityError {
  return new CapacityError(
    'VERSIONS_DIFFER',
    `${name} is ${release}, and ${own} is ${ownRelease()}`,
    'install both from one release, beside artillery, or run both from one checkout',
  );
}
