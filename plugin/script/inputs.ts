/**
 * Everything that a scenario reads, each with a digest of its contents: two hosts bring one load only if all of it is the
 * same on both. What only the host that conducts the run needs is left out, and so is where the files are.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, relative, resolve } from 'node:path';
import { findParser, folderOf } from './options/files.ts';
import { environmentSchema } from './options/plugin-options.ts';
import { ENGINE, PLUGIN, type Script } from './script.ts';

/** Name, as for people → digest. */
export type Inputs = Record<string, string>;

const CONDUCTORS_OPTIONS = ['control', 'layers', 'results', 'live'];
const CONDUCTORS_VARIABLE = /^(CAPACITY|REDIS)_/;
/** Artillery adds it to every script that it runs. */
const DEFAULT_PLUGIN = 'metrics-by-endpoint';
const TEMPLATE_VARIABLE = /\$(?:env|processEnvironment)\.(\w+)/g;
const LOCAL_IMPORT = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g;
const DIGEST_LENGTH = 16;

/** @param script as Artillery hands it over to plugins, or `readScenario` reads it */
export function inputsOf(script: Script, env: NodeJS.ProcessEnv): Inputs {
  const folder = folderOf(script);
  const { config, scenarios, before, after, _environment: environment } = script;
  const { payload, processor: _, statsInterval: __, plugins = {}, ...others } = config;
  const here = JSON.stringify(folder).slice(1, -1);
  const textOf = (value: unknown) => (JSON.stringify(value) ?? '').replaceAll(here, '.');
  const texts: Record<string, string> = {
    'config.payload': textOf(specsOf(payload).map(({ path: _path, data: _data, ...spec }) => spec)),
    'config.plugins': textOf(comparablePlugins(plugins, env)),
    ...Object.fromEntries(Object.entries(others).map(([key, value]) => [`config.${key}`, textOf(value)])),
    ...{ scenarios: textOf(scenarios), before: textOf(before), after: textOf(after), environment: environment ?? '' },
  };
  const inTemplates = Object.values(texts).flatMap((text) =>
    [...text.matchAll(TEMPLATE_VARIABLE)].map(([, name]) => name),
  );
  for (const name of [...Object.keys(environmentSchema.shape), ...inTemplates] as string[]) {
    if (!CONDUCTORS_VARIABLE.test(name) && env[name]) texts[`environment variable ${name}`] = env[name];
  }
  const inputs = Object.entries(texts).map(([name, text]) => [name, digestOf([text])]);
  const files = filesOf(script, folder).map((file) => [relative(folder, file), digestOf(contentsOf(file))]);
  return Object.fromEntries([...inputs, ...files]);
}

/** @returns names of what is not the same in both */
export function differences(one: Inputs, other: Inputs): string[] {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => one[name] !== other[name]);
}

interface PayloadSpec {
  path?: string;
  data?: unknown;
}

function specsOf(payload: unknown): PayloadSpec[] {
  return [payload ?? []].flat() as PayloadSpec[];
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

/** @returns paths of the files that the script names, absolute */
function filesOf(script: Script, folder: string): string[] {
  const { config, __originalProcessor } = script;
  const { payload, processor, includeFiles, engines, tls } = config;
  const { parser, tls: ownTls } = (engines?.[ENGINE] ?? {}) as { parser?: string; tls?: unknown };
  const certificates = [tls, ownTls].flatMap((one) => {
    const { ca, cert, key } = (one ?? {}) as Record<string, unknown>;
    return [ca, cert, key].filter((value) => typeof value === 'string' && !value.includes('\n'));
  });
  const named = [...specsOf(payload).map(({ path }) => path), ...[includeFiles ?? []].flat(), ...certificates];
  const files = [...named, __originalProcessor ?? processor].filter((name) => typeof name === 'string');
  const module = parser === undefined ? undefined : findParser(parser, folder, [], []);
  return [...files.map((name) => resolve(folder, name)), ...(module === undefined ? [] : [module])];
}

/** @returns the file, and those of the same project that it imports, and so on; for one that cannot be read, nothing */
function contentsOf(file: string): Buffer[] {
  const read = new Map<string, Buffer>();
  const visit = (path: string) => {
    if (read.has(path)) return;
    let contents: Buffer;
    try {
      contents = readFileSync(path);
    } catch {
      return;
    }
    read.set(path, contents);
    if (!/\.[cm]?[jt]s$/.test(path)) return;
    for (const [, specifier = ''] of contents.toString().matchAll(LOCAL_IMPORT)) visit(located(specifier, path));
  };
  visit(located(file, file));
  return [...read.values()];
}

/** As Node finds it, with or without its ending. */
function located(specifier: string, from: string): string {
  try {
    return createRequire(from).resolve(specifier);
  } catch {
    return resolve(dirname(from), specifier);
  }
}

function digestOf(contents: (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const one of contents) hash.update(one);
  return hash.digest('hex').slice(0, DIGEST_LENGTH);
}
