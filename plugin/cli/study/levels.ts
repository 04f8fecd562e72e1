/**
 * Settings that a study can vary: environment variables of a run and its stack, options of the plugin and the engine,
 * and the server.
 */
import type { z } from 'zod';
import { attempt } from '../../../protocol/base/attempt.ts';
import { didYouMean, formatPath, type Problem, problemsOf } from '../../../protocol/base/problems.ts';
import { type Level, type Levels, levelSchema, type Plan } from '../../../protocol/documents/study-schema.ts';
import { VARIABLES as SERVER_VARIABLES } from '../../../server/config.ts';
import { environmentSchema as stackSchema } from '../../../server/stack/server-node.ts';
import { optionsSchema as engineSchema } from '../../script/options/engine-options.ts';
import { environmentSchema, optionsSchema } from '../../script/options/plugin-options.ts';
import { ENGINE, PLUGIN } from '../../script/script.ts';
import { merged, nested } from '../scenario-argument.ts';

/** Settings that the study itself sets, so users cannot vary them. */
const TAKEN = ['CAPACITY_RESULTS', 'results'];
/** Name of the setting that varies the server. Its levels are names in the study's `servers`. */
export const SERVER = 'server';
/** Name of the setting that varies the scenario. Its levels are scenario files. */
export const SCENARIO = 'scenario';
const OF_ENGINE = 'engine.';
const VARIABLES = { ...SERVER_VARIABLES, ...environmentSchema.shape, ...stackSchema.shape };
const KNOWN = [
  ...Object.keys(VARIABLES),
  ...Object.keys(optionsSchema.shape),
  ...Object.keys(engineSchema.shape).map((name) => OF_ENGINE + name),
  SERVER,
  SCENARIO,
].filter((name) => !TAKEN.includes(name));

/**
 * Returns the problems of a setting and its levels, with their places in the study's file.
 * @param scenario text of the study's scenario, to find the variables that it reads
 * @param servers servers of the study; they may read any variable
 */
export function levelProblems(name: string, levels: Level[], scenario: string, servers: Plan['servers']): Problem[] {
  if (TAKEN.includes(name)) return [problem(name, 'the study sets it; choose the folder with --results')];
  if (name === SCENARIO) return [];
  if (name === SERVER) return serverProblems(levels, Object.keys(servers));
  if (isVariable(name)) return variableProblems(name, levels, scenario, Object.keys(servers).length > 0);
  return optionProblems(name, levels);
}

/**
 * Returns the environment variables and overrides for a run at these levels. Leaves out the settings `server` and
 * `scenario`, which the study applies itself.
 */
export function settingsOf(levels: Levels): { env: Record<string, string>; overrides: object } {
  const entries = Object.entries(levels).filter(([name]) => name !== SERVER && name !== SCENARIO);
  const variables = entries.filter(([name]) => isVariable(name));
  const options = entries.filter(([name]) => !isVariable(name));
  return {
    env: Object.fromEntries(variables.map(([name, level]) => [name, String(level)])),
    overrides: options.reduce<object>((all, [name, level]) => {
      const { keys, place } = optionOf(name);
      return merged(all, nested(['config', ...place, ...keys], level)) as object;
    }, {}),
  };
}

function isVariable(name: string): boolean {
  return /^[A-Z][A-Z0-9_]*$/.test(name);
}

/**
 * Parses a level from the command line. Levels of environment variables are text; levels of options can also be
 * numbers.
 */
export function typedLevel(name: string, text: string): Level {
  return (isVariable(name) ? undefined : attempt(() => levelSchema.parse(JSON.parse(text)))) ?? text;
}

/** Returns the keys of an option, such as `broadcasts.count`, and its place in the script. */
function optionOf(name: string) {
  return name.startsWith(OF_ENGINE)
    ? {
        owner: 'the engine',
        place: ['engines', ENGINE],
        keys: name.slice(OF_ENGINE.length).split('.'),
        schema: engineSchema.partial(),
      }
    : { owner: 'the plugin', place: ['plugins', PLUGIN], keys: name.split('.'), schema: optionsSchema };
}

function serverProblems(levels: Level[], known: string[]): Problem[] {
  return levels.flatMap((level, index) => {
    if (known.includes(String(level))) return [];
    return [problem(SERVER, `\`servers\` has none of this name${didYouMean(String(level), known)}`, index)];
  });
}

function variableProblems(name: string, levels: Level[], scenario: string, ownServer: boolean): Problem[] {
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

function optionProblems(name: string, levels: Level[]): Problem[] {
  const { owner, keys, schema } = optionOf(name);
  const found = levels.flatMap((level, index) => {
    const { error } = schema.safeParse(nested(keys, level));
    return error ? [{ error, index }] : [];
  });
  const unknown = found.flatMap(({ error }) => error.issues).find(({ code }) => code === 'unrecognized_keys');
  if (unknown) return [problem(name, `${owner} has no such option${didYouMean(name, KNOWN)}`)];
  return found.map(({ error, index }) => problem(name, messageOf(error), index));
}

function messageOf(error: z.ZodError): string {
  return problemsOf(error, [])
    .map(({ message }) => message)
    .join('; ');
}

function problem(name: string, message: string, index?: number): Problem {
  return { path: formatPath(['vary', name, ...(index === undefined ? [] : [index])]), message };
}
