/** The engine is a package of its own, which Artillery finds by itself: it has to be of the plugin's build. */
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { CapacityError } from '../../protocol/errors.ts';
import { ownRelease, releaseOf } from '../../protocol/release.ts';
import { VERSION } from '../../protocol/version.ts';
import { ENGINE_PACKAGE, PLUGIN_PACKAGE, versionsDiffer } from '../script/handed-over.ts';
import { artilleryFolder } from '../virtual-user/artillery.ts';

/** Where Artillery looks for engines from. */
const LOADER = 'dist/lib/core/runner.js';

/**
 * Before anything is started: whether the engine speaks as the plugin does.
 * @throws CapacityError NOT_INSTALLED, VERSIONS_DIFFER
 */
export function requireSameEngine(artillery = artilleryFolder()): void {
  const { resolve } = createRequire(join(artillery, LOADER));
  let manifest: string;
  try {
    manifest = realpathSync(resolve(`${ENGINE_PACKAGE}/package.json`));
  } catch (cause) {
    const message = `Artillery in ${artillery} finds no ${ENGINE_PACKAGE}`;
    const fix = `install it beside artillery, from the release of the plugin (${VERSION})`;
    throw new CapacityError('NOT_INSTALLED', message, fix, { cause });
  }
  const folder = dirname(manifest);
  // As its index.js decides it.
  const root = join(folder, folder.includes('/node_modules/') ? 'dist' : '../..');
  const { version } = createRequire(manifest)(manifest);
  const release = releaseOf(root, version);
  if (release === ownRelease()) return;
  throw versionsDiffer({ name: `the engine in ${folder}`, release }, { name: PLUGIN_PACKAGE, release: ownRelease() });
}
