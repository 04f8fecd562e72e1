/**
 * What a study can vary: environment variables of a run and of the stack that it starts, options of the plugin and of the
 * engine, and the server.
 */
import type { z } from 'zod';
import type { Level, Levels, Plan } from '../../../protocol/documents/study.ts';
import { didYouMean, formatPath, type Problem, problemsOf } from '../../../protocol/problems.ts';
import { VARIABLES as SERVER_VARIABLES } from '../../../server/config.ts';
import { environmentSchema as stackSchema } from '../../../server/stack/server-node.ts';
import { optionsSchema as engineSchema } from '../../script/options/engine-options.ts';
import { environmentSchema, optionsSchema } from '../../script/options/plugin-options.ts';
import { ENGINE, PLUGIN } from '../../script/script.ts';

/** What the study itself sets. */
const TAKEN = ['CAPACITY_RESULTS', 'results'];
/** Names one of the study's `servers`. */
export const SERVER = 'server';
const OF_ENGINE = 'engine.';
const VARIABLES = { ...SERVER_VARIABLES, ...environmentSchema.shape, ...stackSchema.shape };
const KNOWN = [
  ...Object.keys(VARIABLES),
  ...Object.keys(optionsSchema.shape),
  ...Object.keys(engineSchema.shape).map((name) => OF_ENGINE + name),
  SERVER,
].filter((name) => !TAKEN.includes(name));

/**
 * @param scenario its text, which can read further variables
 * @param servers of the study; they can read any variable
 * @returns the problems of a name and its levels, with their places in the study's file
 */
export function levelProblems(name: string, levels: Level[], scenario: string, servers: Plan['servers']): Problem[] {
  if (TAKEN.includes(name)) return [problem(name, 'the study sets it; choose the folder with --results')];
  if (name === SERVER) return serverProblems(levels, Object.keys(servers));
  if (isVariable(name)) return variableProblems(name, levels, scenario, Object.keys(servers).length > 0);
  if (name.startsWith(OF_ENGINE)) {
    return optionProblems(name, name.slice(OF_ENGINE.length), levels, engineSchema.partial(), 'the engine');
  }
  return optionProblems(name, name, levels, optionsSchema, 'the plugin');
}

/** @returns how to tell a run its levels; the one of `server` is the study's own affair */
export function settingsOf(levels: Levels): { env: Record<string, string>; overrides: object } {
  const entries = Object.entries(levels).filter(([name]) => name !== SERVER);
  const env = entries.filter(([name]) => isVariable(name)).map(([name, level]) => [name, String(level)]);
  const overrides = emptyTree();
  for (const [name, level] of entries) {
    if (isVariable(name)) continue;
    const ofEngine = name.startsWith(OF_ENGINE);
    const place = ofEngine ? ['engines', ENGINE] : ['plugins', PLUGIN];
    set(overrides, ['config', ...place, ...(ofEngine ? name.slice(OF_ENGINE.length) : name).split('.')], level);
  }
  return { env: Object.fromEntries(env), overrides };
}

function isVariable(name: string): boolean {
  return /^[A-Z][A-Z0-9_]*$/.test(name);
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
    const isRead = ownServer || new RegExp(`\\$(?:processEnvironment|env)\\.${name}\\b`).test(scenario);
    return isRead ? [] : [problem(name, `no run reads this variable${didYouMean(name, KNOWN)}`)];
  }
  return levels.flatMap((level, index) => {
    const { error } = schema.safeParse(String(level));
    return error ? [problem(name, messageOf(error), index)] : [];
  });
}

/** @param option with dots between the parts */
function optionProblems(name: string, option: string, levels: Level[], schema: z.ZodType, owner: string): Problem[] {
  const found = levels.flatMap((level, index) => {
    const options = emptyTree();
    set(options, option.split('.'), level);
    const { error } = schema.safeParse(options);
    return error ? [{ error, index }] : [];
  });
  const unknown = found.flatMap(({ error }) => error.issues).find(({ code }) => code === 'unrecognized_keys');
  if (unknown) return [problem(name, `${owner} has no such option${didYouMean(name, KNOWN)}`)];
  return found.map(({ error, index }) => problem(name, messageOf(error), index));
}

function messageOf(error: z.ZodError): string {
  return problemsOf(error, [], [])
    .map(({ message }) => message)
    .join('; ');
}

function problem(name: string, message: string, index?: number): Problem {
  return { path: formatPath(['vary', name, ...(index === undefined ? [] : [index])]), message };
}

interface Tree {
  [key: string]: Tree | Level;
}

/** Without a prototype, which a name such as `__proto__` would change. */
function emptyTree(): Tree {
  return Object.create(null);
}

function set(tree: Tree, [key = '', ...rest]: string[], level: Level): void {
  if (rest.length === 0) tree[key] = level;
  else {
    const inner = (tree[key] ?? emptyTree()) as Tree;
    tree[key] = inner;
    set(inner, rest, level);
  }
}
