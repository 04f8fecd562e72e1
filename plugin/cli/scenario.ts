/** Reads a scenario as `artillery run` would, without running it. */
import { CapacityError } from '../../protocol/errors.ts';
import type { Script } from '../script/script.ts';
import { resolveArtillery } from './artillery.ts';

/** Artillery's `artillery/util`, which has no types. */
interface ArtilleryUtil {
  readScript(path: string): Promise<string>;
  parseScript(text: string): Promise<Script>;
  checkConfig(script: Script, path: string, flags: Flags): Promise<Script>;
  resolveConfigTemplates(script: Script, flags: Flags, configPath: string, scriptPath: string): Promise<Script>;
}

interface Flags {
  environment: string | undefined;
}

/**
 * @param environment one of `config.environments`
 * @throws CapacityError ARTILLERY_MISSING, SCENARIO_UNREADABLE
 */
export async function readScenario(path: string, environment: string | undefined): Promise<Script> {
  // Artillery's templates read the run's id from it.
  Object.assign(globalThis, { artillery: { testRunId: 'doctor' } });
  const util = (await import(resolveArtillery('artillery/util'))) as ArtilleryUtil;
  const flags = { environment };
  try {
    const script = await util.parseScript(await util.readScript(path));
    if (typeof script !== 'object' || script === null) throw new Error('it is not a scenario');
    const merged = await util.checkConfig(script, path, flags);
    return await util.resolveConfigTemplates(merged, flags, path, path);
  } catch (cause) {
    throw new CapacityError('SCENARIO_UNREADABLE', `${path} cannot be read`, 'name an Artillery scenario, as YAML', {
      cause,
    });
  }
}
