/**
 * Everything that a scenario names, each with a digest of its contents: two hosts bring one load only if all of it is the
 * same on both. Modules that a processor imports, options of the conductor, and the places of files are not compared.
 */
import { hash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { attempt } from '../../protocol/base/attempt.ts';
import { folderOf } from './options/files.ts';
import { environmentSchema } from './options/plugin-options.ts';
import { PLUGIN, type Script } from './script.ts';

/** Name, as for people → digest. */
export type Inputs = Record<string, string>;

const CONDUCTORS_OPTIONS = ['control', 'layers', 'results', 'live'];
const CONDUCTORS_VARIABLE = /^(CAPACITY|REDIS)_/;
/** Artillery adds it to every script that it runs. */
const DEFAULT_PLUGIN = 'metrics-by-endpoint';
const TEMPLATE_VARIABLE = /\$(?:env|processEnvironment)\.(\w+)/g;
const DIGEST_LENGTH = 16;
/** No path is longer. */
const MAX_NAME_LENGTH = 255;

/** @param script as Artillery hands it over to plugins, or `readScenario` reads it */
export function inputsOf(script: Script, env: NodeJS.ProcessEnv): Inputs {
  const folder = folderOf(script);
  const { config, scenarios, before, after, _environment: environment } = script;
  const { payload, processor: _, statsInterval: __, plugins = {}, ...others } = config;
  const here = JSON.stringify(folder).slice(1, -1);
  const specs = [payload ?? []].flat() as PayloadSpec[];
  const parts: Record<string, unknown> = {
    'config.payload': specs.map(({ path: _path, data: _data, ...spec }) => spec),
    'config.plugins': comparablePlugins(plugins, env),
    ...Object.fromEntries(Object.entries(others).map(([key, value]) => [`config.${key}`, value])),
    ...{ scenarios, before, after, environment },
  };
  const texts = Object.entries(parts).map(([name, value]) => [
    name,
    (JSON.stringify(value) ?? '').replaceAll(here, '.'),
  ]);
  const inTemplates = texts.flatMap(([, text = '']) => [...text.matchAll(TEMPLATE_VARIABLE)].map(([, name]) => name));
  const variables = [...Object.keys(environmentSchema.shape), ...inTemplates] as string[];
  const set = variables.filter((name) => !CONDUCTORS_VARIABLE.test(name) && env[name]);
  const values = set.map((name) => [`environment variable ${name}`, env[name]]);
  // Whatever names a file is taken for one that is read: certificates, parsers, forms.
  const named = stringsIn(parts).filter((name) => name.length <= MAX_NAME_LENGTH && isFile(resolve(folder, name)));
  const paths = new Set([...filesOf(script, specs), ...named].map((name) => resolve(folder, name)));
  // Artillery reports a file that cannot be read.
  const files = [...paths].map((path) => [relative(folder, path), attempt(() => digestOf(readFileSync(path))) ?? '']);
  const digests = [...texts, ...values].map(([name, content = '']) => [name, digestOf(content)]);
  return Object.fromEntries([...digests, ...files]);
}

export function differences(one: Inputs, other: Inputs): string[] {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => one[name] !== other[name]);
}

interface PayloadSpec {
  path?: string;
  data?: unknown;
}

function comparablePlugins(plugins: Record<string, unknown>, env: NodeJS.ProcessEnv): [string, unknown][] {
  // Clouds add some of their own there.
  const added = [DEFAULT_PLUGIN, ...Object.keys(JSON.parse(env.ARTILLERY_PLUGINS || '{}'))];
  const kept = Object.entries(plugins).filter(([name]) => !added.includes(name));
  return kept.map(([name, options]) => {
    if (name !== PLUGIN) return [name, options];
    return [name, Object.entries(options ?? {}).filter(([key]) => !CONDUCTORS_OPTIONS.includes(key))];
  });
}

/** @returns those that decide what virtual users do */
function filesOf({ config, __originalProcessor }: Script, specs: PayloadSpec[]): string[] {
  const named = [...specs.map(({ path }) => path), config.includeFiles, __originalProcessor ?? config.processor];
  return named.flat().filter((name) => typeof name === 'string');
}

function isFile(path: string): boolean {
  return attempt(() => statSync(path).isFile()) ?? false;
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

function digestOf(content: string | Buffer): string {
  return hash('sha256', content).slice(0, DIGEST_LENGTH);
}
