/**
 * Everything that a scenario reads, each with a digest of its contents: two hosts bring one load only if all of it is the
 * same on both. What only the host that conducts the run needs is left out, and so is where the files are.
 */
import { createHash, hash } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { attempt } from '../../protocol/helpers/attempt.ts';
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
const PART_BYTES = 2 ** 20;
/** No path is longer. */
const MAX_NAME_LENGTH = 255;
const IMPORT = /(?:\brequire\(|\bfrom|\bimport\(?)\s*['"](\.{1,2}\/[^'"]+)['"]/g;
const MODULE_ENDINGS = ['', '.js', '.cjs', '.mjs', '.ts', '.json', '/index.js'];

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
  const paths = [...filesOf(script, specs), ...named].map((name) => resolve(folder, name));
  const files = [...withImports(paths)].map(([path, digest]) => [relative(folder, path), digest]);
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

/** @returns digests of files, and of those of the user's own that they import; nothing for one that cannot be read: Artillery says so */
function withImports(paths: string[], known = new Map<string, string>()): Map<string, string> {
  for (const path of paths) {
    if (known.has(path)) continue;
    known.set(path, '');
    try {
      known.set(path, digestOfFile(path));
      if (!/\.[cm]?[jt]s$/.test(path)) continue;
      const imported = [...readFileSync(path, 'latin1').matchAll(IMPORT)].map(([, name = '']) =>
        resolve(dirname(path), name),
      );
      withImports(
        imported.flatMap((name) => MODULE_ENDINGS.map((ending) => name + ending).find(isFile) ?? []),
        known,
      );
    } catch {
      // Artillery says so.
    }
  }
  return known;
}

/** In parts: rows of CSV can be more than a text can hold. */
function digestOfFile(path: string): string {
  const digest = createHash('sha256');
  const part = Buffer.allocUnsafe(PART_BYTES);
  const file = openSync(path, 'r');
  try {
    for (let size = readSync(file, part); size > 0; size = readSync(file, part)) digest.update(part.subarray(0, size));
  } finally {
    closeSync(file);
  }
  return digest.digest('hex').slice(0, DIGEST_LENGTH);
}

function isFile(path: string): boolean {
  return attempt(() => statSync(path).isFile()) ?? false;
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

function digestOf(content: string): string {
  return hash('sha256', content).slice(0, DIGEST_LENGTH);
}
