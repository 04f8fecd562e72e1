/**
 * Computes digests of everything that a scenario reads. Equal digests show that all hosts of a run have the same load.
 * Modules that a processor imports are not included.
 */
import { hash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';
import { scriptFolder } from './options/files.ts';
import { runEnvironmentSchema } from './options/plugin-options.ts';
import { PLUGIN_NAME, type Script } from './script.ts';

/** Digests of the scenario's inputs, by name of the input. */
export type RunInputs = Record<string, string>;

/** Options of the plugin that only the conductor uses. They may differ between hosts. */
const CONDUCTOR_OPTIONS = ['control', 'layers', 'results', 'live'];
const CONDUCTOR_VARIABLE = /^(CAPACITY|REDIS)_/;
/** Plugin that Artillery adds to every script. */
const DEFAULT_PLUGIN = 'metrics-by-endpoint';
const TEMPLATE_VARIABLE = /\$(?:env|processEnvironment)\.(\w+)/g;
const DIGEST_LENGTH = 16;
/** Largest length of a text that may be a file name. */
const MAX_NAME_LENGTH = 255;

/**
 * Returns the digests of everything that a script reads.
 * @param script script from Artillery or from `readScenario`
 */
export function digestRunInputs(script: Script, env: NodeJS.ProcessEnv): RunInputs {
  const folder = scriptFolder(script);
  const { config, scenarios, before, after, _environment: environment } = script;
  const { payload, processor: _, statsInterval: __, plugins = {}, ...rest } = config;
  const quotedFolder = JSON.stringify(folder).slice(1, -1);
  const specs = [payload ?? []].flat() as PayloadSpec[];
  const parts: Record<string, unknown> = {
    'config.payload': specs.map(({ path: _path, data: _data, ...spec }) => spec),
    'config.plugins': comparablePlugins(plugins, env),
    ...Object.fromEntries(Object.entries(rest).map(([key, value]) => [`config.${key}`, value])),
    ...{ scenarios, before, after, environment },
  };
  const texts = Object.entries(parts).map(([name, value]) => [
    name,
    (JSON.stringify(value) ?? '').replaceAll(quotedFolder, '.'),
  ]);
  const set = loadVariablesIn(texts.map(([, text = '']) => text)).filter((name) => env[name]);
  const values = set.map((name) => [`environment variable ${name}`, env[name]]);
  // Each text that is the name of an existing file counts as an input, such as a certificate or a form.
  const named = stringsIn(parts).filter((name) => name.length <= MAX_NAME_LENGTH && isFile(resolve(folder, name)));
  const paths = new Set([...filesOf(script, specs), ...named].map((name) => resolve(folder, name)));
  // A file that cannot be read has an empty digest. Artillery reports the error.
  const files = [...paths].map((path) => [
    relative(folder, path),
    tryOrUndefined(() => digestOf(readFileSync(path))) ?? '',
  ]);
  const digests = [...texts, ...values].map(([name, content = '']) => [name, digestOf(content)]);
  return Object.fromEntries([...digests, ...files]);
}

/**
 * Returns the names of the environment variables that affect the load.
 * @param texts parts of the scenario that are searched for variables
 */
export function loadVariablesIn(texts: string[]): string[] {
  const inTemplates = texts.flatMap((text) => [...text.matchAll(TEMPLATE_VARIABLE)].map(([, name = '']) => name));
  const names = [...Object.keys(runEnvironmentSchema.shape), ...inTemplates];
  return [...new Set(names)].filter((name) => !CONDUCTOR_VARIABLE.test(name));
}

export function differingInputs(a: RunInputs, b: RunInputs): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => a[name] !== b[name]);
}

interface PayloadSpec {
  path?: string;
  data?: unknown;
}

function comparablePlugins(plugins: Record<string, unknown>, env: NodeJS.ProcessEnv): [string, unknown][] {
  // Artillery's cloud platforms add plugins to the script, and list them in this environment variable.
  const added = [DEFAULT_PLUGIN, ...Object.keys(JSON.parse(env.ARTILLERY_PLUGINS || '{}'))];
  const kept = Object.entries(plugins).filter(([name]) => !added.includes(name));
  return kept.map(([name, options]) => {
    if (name !== PLUGIN_NAME) return [name, options];
    return [name, Object.entries(options ?? {}).filter(([key]) => !CONDUCTOR_OPTIONS.includes(key))];
  });
}

/** Returns the names of files that determine the actions of virtual users. */
function filesOf({ config, __originalProcessor }: Script, specs: PayloadSpec[]): string[] {
  const named = [...specs.map(({ path }) => path), config.includeFiles, __originalProcessor ?? config.processor];
  return named.flat().filter((name) => typeof name === 'string');
}

function isFile(path: string): boolean {
  return tryOrUndefined(() => statSync(path).isFile()) ?? false;
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

function digestOf(content: string | Buffer): string {
  return hash('sha256', content).slice(0, DIGEST_LENGTH);
}
