/**
 * The settings on their way from Artillery's main thread to its workers: parsed, so that nobody parses or validates them
 * twice. A worker gets what was there when it was created, and Artillery creates its workers after the plugins.
 */
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { ownRelease } from '../../protocol/release.ts';
import type { Settings } from './settings.ts';
import { ENGINE_PACKAGE, PLUGIN_PACKAGE, versionsDiffer } from './versions-differ.ts';

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
  throw versionsDiffer({ name: PLUGIN_PACKAGE, release }, { name: ENGINE_PACKAGE, release: ownRelease() });
}
