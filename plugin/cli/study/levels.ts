/** What a study can vary: environment variables of a run and of the stack that it starts, and the plugin's options. */
import type { z } from 'zod';
import { didYouMean, formatPath, type Problem, problemsOf } from '../../../protocol/problems.ts';
import type { Level, Levels } from '../../../protocol/study.ts';
import { VARIABLES as SERVER_VARIABLES } from '../../../server/config.ts';
import { environmentSchema, optionsSchema } from '../../script/plugin-options.ts';
import { PLUGIN } from '../../script/script.ts';

/** What the study itself sets. */
const TAKEN = ['CAPACITY_RESULTS', 'results'];
const VARIABLES = { ...SERVER_VARIABLES, ...environmentSchema.shape };
const KNOWN = [...Object.keys(VARIABLES), ...Object.keys(optionsSchema.shape)].filter((name) => !TAKEN.includes(name));

/**
 * @param scenario its text, which can read further variables
 * @returns the problems of a name and its levels, with their places in the study's file
 */
export function levelProblems(name: string, levels: Level[], scenario: string): Problem[] {
  if (TAKEN.includes(name)) return [problem(name, 'the study sets it; choose the folder with --results')];
  if (isVariable(name)) return variableProblems(name, levels, scenario);
  return optionProblems(name, levels);
}

/** @returns how to tell a run its levels */
export function settingsOf(levels: Levels): { env: Record<string, string>; args: string[] } {
  const entries = Object.entries(levels);
  const env = entries.filter(([name]) => isVariable(name)).map(([name, level]) => [name, String(level)]);
  const options = entries.filter(([name]) => !isVariable(name));
  if (options.length === 0) return { env: Object.fromEntries(env), args: [] };
  const overrides = emptyTree();
  for (const [name, level] of options) set(overrides, ['config', 'plugins', PLUGIN, ...name.split('.')], level);
  return { env: Object.fromEntries(env), args: ['--overrides', JSON.stringify(overrides)] };
}

function isVariable(name: string): boolean {
  return /^[A-Z][A-Z0-9_]*$/.test(name);
}

function variableProblems(name: string, levels: Level[], scenario: string): Problem[] {
  const schema = Object.hasOwn(VARIABLES, name) ? VARIABLES[name as keyof typeof VARIABLES] : undefined;
  if (!schema) {
    const readByScenario = new RegExp(`\\$(?:processEnvironment|env)\\.${name}\\b`).test(scenario);
    return readByScenario ? [] : [problem(name, `no run reads this variable${didYouMean(name, KNOWN)}`)];
  }
  return levels.flatMap((level, index) => {
    const { error } = schema.safeParse(String(level));
    return error ? [problem(name, messageOf(error), index)] : [];
  });
}

function optionProblems(name: string, levels: Level[]): Problem[] {
  const found = levels.flatMap((level, index) => {
    const options = emptyTree();
    set(options, name.split('.'), level);
    const { error } = optionsSchema.safeParse(options);
    return error ? [{ error, index }] : [];
  });
  const unknown = found.flatMap(({ error }) => error.issues).find(({ code }) => code === 'unrecognized_keys');
  if (unknown) return [problem(name, `the plugin has no such option${didYouMean(name, KNOWN)}`)];
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
