/** Reads scenarios and other YAML files in the same way as `artillery run`. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { runMetrics } from '../result/run-metrics.ts';
import { unknownMetrics } from '../script/ensure.ts';
import { WHOLE_LOAD } from '../script/load/shares.ts';
import { measuringProblems } from '../script/misspelt-names.ts';
import { requireBounds } from '../script/required-bounds.ts';
import type { Script } from '../script/script.ts';
import { readSettings, type Settings } from '../script/settings.ts';
import { resolveArtillery } from '../series/artillery-arguments.ts';
import { STEP_KINDS } from '../virtual-user/steps/index.ts';
import { USER_METRICS } from '../virtual-user/user-metrics.ts';

/** Module `artillery/util` of Artillery, which has no types. */
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
 * Parses YAML in the same way as Artillery.
 * @throws Error if the text is not YAML; CapacityError NOT_INSTALLED
 */
export async function parseYaml(text: string): Promise<unknown> {
  return (await artilleryUtil()).parseScript(text).catch((error) => {
    throw withoutLines(error);
  });
}

/**
 * Reads the file of a scenario.
 * @param environment name in `config.environments`
 * @param overrides JSON object, as in Artillery's `--overrides`
 * @throws CapacityError NOT_INSTALLED, FILE_UNREADABLE, CONFIG_INVALID
 */
export async function readScenario(path: string, environment: string | undefined, overrides?: string): Promise<Script> {
  const util = await artilleryUtil();
  return withReadErrors(path, async () => parseScenario(await util.readScript(path), path, environment, overrides));
}

/**
 * Parses the text of a scenario.
 * @throws Error if the text is not a scenario; CapacityError NOT_INSTALLED, CONFIG_INVALID
 */
export async function parseScenario(
  text: string,
  path: string,
  environment?: string,
  overrides = '{}',
): Promise<Script> {
  const util = await artilleryUtil();
  const flags = { environment };
  const checked = await util.checkConfig(await parsed(text, util), path, flags);
  // `overrides` is merged after the environment and before templates are filled, as in Artillery.
  const script = mergeLikeArtillery(checked, JSON.parse(overrides)) as Script;
  return { ...(await util.resolveConfigTemplates(script, flags, path, path)), _scriptPath: resolve(path) };
}

/**
 * Parses the text of a scenario. Checks the text's size and depth, because later code walks through the whole script.
 */
async function parsed(text: string, util: ArtilleryUtil): Promise<Script> {
  const script = await util.parseScript(text);
  if (typeof script !== 'object' || script === null) throw new Error('it is not a scenario');
  requireBounds(script);
  return script;
}

/**
 * Reads the settings of a run from a script. Also refuses mistakes that Artillery ignores.
 * @throws CapacityError like `readSettings`
 */
export function settingsOfScript(script: Script, env: NodeJS.ProcessEnv = process.env): Settings {
  const metrics = [...runMetrics(), ...Object.values(USER_METRICS)];
  const mistakes = [...measuringProblems(script), ...unknownMetrics(script, metrics)];
  return readSettings(script, STEP_KINDS, env, WHOLE_LOAD, mistakes);
}

/**
 * Returns the SHA-256 of the texts of the scenarios. Checks their size first: with nested YAML aliases, Artillery would
 * hang before it loads the plugin.
 * @throws CapacityError NOT_INSTALLED, FILE_UNREADABLE, CONFIG_INVALID
 */
export async function scenarioHash(...paths: string[]): Promise<string> {
  const util = await artilleryUtil();
  const hash = createHash('sha256');
  for (const path of paths) {
    await withReadErrors(path, async () => {
      await parsed(await util.readScript(path), util);
      hash.update(readFileSync(path));
    });
  }
  return hash.digest('hex');
}

/** Removes the lines of the file that an error of js-yaml quotes. They may contain a password. */
function withoutLines(error: unknown): unknown {
  const { reason, mark } = error as { reason?: string; mark?: { line: number; column: number } };
  return mark ? new Error(`line ${mark.line + 1}, column ${mark.column + 1}: ${reason}`) : error;
}

/**
 * Reads a file by calling `read`.
 * @throws CapacityError FILE_UNREADABLE for any unexpected error of `read`
 */
export async function withReadErrors<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (cause instanceof CapacityError) throw cause;
    throw new CapacityError('FILE_UNREADABLE', `${path} cannot be read`, 'name an Artillery scenario, as YAML', {
      cause: withoutLines(cause),
    });
  }
}

async function artilleryUtil(): Promise<ArtilleryUtil> {
  // Templates of Artillery read the run's id from this global object.
  Object.assign(globalThis, { artillery: { testRunId: 'doctor', runtimeOptions: {} } });
  return (await import(resolveArtillery('artillery/util'))) as ArtilleryUtil;
}

/** Merges two values as Artillery does: objects are merged key by key, other values are replaced. */
export function mergeLikeArtillery(into: unknown, from: unknown): unknown {
  if (!isObject(into) || !isObject(from)) return from;
  const entries = Object.entries(from).map(([key, value]) => [
    key,
    Object.hasOwn(into, key) ? mergeLikeArtillery(into[key], value) : value,
  ]);
  return { ...into, ...Object.fromEntries(entries) };
}

/** Returns nested objects: each key contains the next key, and the last key contains the value. */
export function nestUnderKeys(keys: string[], value: unknown): object {
  // Assigning to a key such as `__proto__` would change other objects.
  return keys.reduceRight((inner, key) => Object.fromEntries([[key, inner]]), value) as object;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
