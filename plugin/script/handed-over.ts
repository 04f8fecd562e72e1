/**
 * Passes the parsed settings from Artillery's main thread to its workers, so that they are not parsed twice. Uses Node's environment
 * data, which a worker receives when it is created; Artillery creates its workers after the plugins.
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

/** @throws CapacityError VERSIONS_DIFFER if a plugin of another build wrote the settings */
export function handedOver(): Settings {
  const { release = 'an older one', settings } = (getEnvironmentData(KEY) ?? {}) as unknown as Partial<HandedOver>;
  if (settings && release === ownRelease()) return settings;
  throw versionsDiffer(PLUGIN_PACKAGE, release, ENGINE_PACKAGE);
}

/** Key for the variables of the script's `before`, which Artillery runs in its main thread only. */
const BEFORE = `${KEY} before`;

/** Stores the variables that `before` captures. Must be called in the main thread, with the script from which Artillery runs `before`. */
export function keepVariablesOfBefore({ before, config }: Script): void {
  if (!before) return;
  const keep = ({ vars }: { vars: object }, _events: unknown, done: () => void) => {
    setEnvironmentData(BEFORE, JSON.stringify(vars));
    done();
  };
  config.processor = { ...(config.processor as object | undefined), [BEFORE]: keep };
  before.afterScenario = [before.afterScenario ?? [], BEFORE].flat();
}

/** Returns the variables that `before` captured; empty if there is no `before`, or if it has not run. */
export function variablesOfBefore(): Record<string, unknown> {
  return JSON.parse((getEnvironmentData(BEFORE) as string | undefined) ?? '{}');
}

/** @param own package of this release, whose version `name` should have */
export function versionsDiffer(name: string, release: string, own: string): CapacityError {
  return new CapacityError(
    'VERSIONS_DIFFER',
    `${name} is ${release}, and ${own} is ${ownRelease()}`,
    'install both from one release, beside artillery, or run both from one checkout',
  );
}
