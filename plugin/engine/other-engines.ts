/**
 * Counts virtual users that other engines run in a measured run. They add load, and are counted separately from the
 * measured connections.
 */
import { CapacityError } from '../../protocol/codes/errors.ts';
import { engineNameOf, type Scenario, type Script, usesOurEngine } from '../script/script.ts';
import { type ArtilleryEngine, type HttpEngine, loadEngine } from '../virtual-user/artillery-types.ts';
import { countError } from '../virtual-user/http-requests.ts';
import type { OtherUsers } from '../virtual-user/tally.ts';
import type { ScenarioFunction } from '../virtual-user/user-types.ts';

/**
 * Loads the engines of all scenarios that run on other engines.
 * @param http HTTP engine that counts its requests
 * @returns engines by scenario
 * @throws CapacityError NOT_INSTALLED
 */
export async function loadOtherEngines(
  script: Script,
  http: () => Promise<HttpEngine>,
  ...createdWith: unknown[]
): Promise<Map<Scenario, ArtilleryEngine>> {
  const byName = new Map<string, ArtilleryEngine>();
  const found = new Map<Scenario, ArtilleryEngine>();
  for (const scenario of script.scenarios ?? []) {
    if (usesOurEngine(scenario, script)) continue;
    const name = engineNameOf(scenario, script);
    const engine = byName.get(name) ?? (await (name === 'http' ? http() : loadOther(name, script, createdWith)));
    byName.set(name, engine);
    found.set(scenario, engine);
  }
  return found;
}

async function loadOther(name: string, script: Script, createdWith: unknown[]): Promise<ArtilleryEngine> {
  try {
    return await loadEngine(name, script, createdWith);
  } catch (cause) {
    const message = `the engine ${name} of another scenario cannot be loaded: ${(cause as Error).message}`;
    throw new CapacityError('NOT_INSTALLED', message, `install artillery-engine-${name} beside artillery`, { cause });
  }
}

/** Returns the scenario function of another engine, extended to count its virtual users. */
export function countUsers(play: ScenarioFunction, counts: OtherUsers): ScenarioFunction {
  return (context, callback) => {
    counts.started++;
    play(context, (error, after) => {
      counts.ended++;
      if (error) countError(counts.failures, error as Error);
      callback(error, after);
    });
  };
}
