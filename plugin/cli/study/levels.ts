/**
 * Settings that a study can vary: environment variables of a run and its stack, options of the plugin and the engine,
 * and the server.
 */
import type { z } from 'zod';
import { didYouMean, formatPath, type InputProblem, problemsOfZodError } from '../../../protocol/base/problems.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import {
  type LevelCombination,
  type StudyLevel,
  type StudyPlan,
  studyLevelSchema,
} from '../../../protocol/documents/study-schema.ts';
import { WORKER_VARIABLES as SERVER_VARIABLES } from '../../../server/config.ts';
import { serverNodeEnvironmentSchema as stackSchema } from '../../../server/stack/server-node.ts';
import { engineOptionsSchema as engineSchema } from '../../script/options/engine-options.ts';
import { pluginOptionsSchema, runEnvironmentSchema } from '../../script/options/plugin-options.ts';
import { ENGINE_NAME, PLUGIN_NAME } from '../../script/script.ts';
import { mergeLikeArtillery, nestUnderKeys } from '../scenario-argument.ts';

/** Settings that the study itself sets, so users cannot vary them. */
const TAKEN = ['CAPACITY_RESULTS', 'results'];
/** Name of the setting that varies the server. Its levels are names in the study's `servers`. */
export const SERVER_SETTING = 'server';
/** Name of the setting that varies the scenario. Its levels are scenario files. */
export const SCENARIO_SETTING = 'scenario';
const OF_ENGINE = 'engine.';
const VARIABLES = { ...SERVER_VARIABLES, ...runEnvironmentSchema.shape, ...stackSchema.shape };
const KNOWN = [
  ...Object.keys(VARIABLES),
  ...Object.keys(pluginOptionsSchema.shape),
  ...Object.keys(engineSchema.shape).map((name) => OF_ENGINE + name),
  SERVER_SETTING,
  SCENARIO_SETTING,
].filter((name) => !TAKEN.includes(name));

/**
 * Returns the problems of a varied setting and its values (levels), with their places in the study's file.
 * @param scenario text of the study's scenario, to find the variables that it reads
 * @param servers servers of the study; they may read any variable
 */
export function levelProblems(
  name: string,
  levels: StudyLevel[],
  scenario: string,
  servers: StudyPlan['servers'],
): InputProblem[] {
  if (TAKEN.includes(name)) return [problem(name, 'the study sets it; choose the folder with --results')];
  if (name === SCENARIO_SETTING) return [];
  if (name === SERVER_SETTING) return serverProblems(levels, Object.keys(servers));
  if (isVariable(name)) return variableProblems(name, levels, scenario, Object.keys(servers).length > 0);
  return optionProblems(name, levels);
}

/**
 * Returns the environment variables and overrides for a run with these values (levels) of the varied settings. Leaves
 * out the settings `server` and `scenario`, which the study applies itself.
 */
export function settingsOfLevels(levels: LevelCombination): { env: Record<string, string>; overrides: object } {
  const entries = Object.entries(levels).filter(([name]) => name !== SERVER_SETTING && name !== SCENARIO_SETTING);
  const variables = entries.filter(([name]) => isVariable(name));
  const options = entries.filter(([name]) => !isVariable(name));
  return {
    env: Object.fromEntries(variables.map(([name, level]) => [name, String(level)])),
    overrides: options.reduce<object>((all, [name, level]) => {
      const { keys, place } = optionOf(name);
      return mergeLikeArtillery(all, nestUnderKeys(['config', ...place, ...keys], level)) as object;
    }, {}),
  };
}

function isVariable(name: string): boolean {
  return /^[A-Z][A-Z0-9_]*$/.test(name);
}

/**
 * Parses a level (value of a varied setting) from the command line. Levels of environment variables are text; levels of
 * options can also be numbers.
 */
export function parseLevel(name: string, text: string): StudyLevel {
  return (isVariable(name) ? undefined : tryOrUndefined(() => studyLevelSchema.parse(JSON.parse(text)))) ?? text;
}

/** Returns the keys of an option, such as `broadcasts` and `count`, and the path of the option in the script. */
function optionOf(name: string) {
  return name.startsWith(OF_ENGINE)
    ? {
        owner: 'the engine',
        place: ['engines', ENGINE_NAME],
        keys: name.slice(OF_ENGINE.length).split('.'),
        schema: engineSchema.partial(),
      }
    : { owner: 'the plugin', place: ['plugins', PLUGIN_NAME], keys: name.split('.'), schema: pluginOptionsSchema };
}

function serverProblems(levels: StudyLevel[], known: string[]): InputProblem[] {
  return levels.flatMap((level, index) => {
    if (known.includes(String(level))) return [];
    return [problem(SERVER_SETTING, `\`servers\` has none of this name${didYouMean(String(level), known)}`, index)];
  });
}

function variableProblems(name: string, levels: StudyLevel[], scenario: string, ownServer: boolean): InputProblem[] {
  const schema = Object.hasOwn(VARIABLES, name) ? VARIABLES[name as keyof typeof VARIABLES] : undefined;
  if (!schema) {
    const isRead =
      ownServer || new RegExp(`\\$(?:processEnvironment|env)\\.${name}\\b|\\bprocessor"?\\s*:`).test(scenario);
    return isRead ? [] : [problem(name, `no run reads this variable${didYouMean(name, KNOWN)}`)];
  }
  return levels.flatMap((level, index) => {
    const { error } = schema.safeParse(String(level));
    return error ? [problem(name, messageOf(error), index)] : [];
  });
}

function optionProblems(name: string, levels: StudyLevel[]): InputProblem[] {
  const { owner, keys, schema } = optionOf(name);
  const found = levels.flatMap((level, index) => {
    const { error } = schema.safeParse(nestUnderKeys(keys, level));
    return error ? [{ error, index }] : [];
  });
  const unknown = found.flatMap(({ error }) => error.issues).find(({ code }) => code === 'unrecognized_keys');
  if (unknown) return [problem(name, `${owner} has no such option${didYouMean(name, KNOWN)}`)];
  return found.map(({ error, index }) => problem(name, messageOf(error), index));
}

function messageOf(error: z.ZodError): string {
  return problemsOfZodError(error, [])
    .map(({ message }) => message)
    .join('; ');
}

function problem(name: string, message: string, index?: number): InputProblem {
  return { path: formatPath(['vary', name, ...(index === undefined ? [] : [index])]), message };
}
