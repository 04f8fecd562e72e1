/** Reads the files in deploy/. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parse, parseAllDocuments } from 'yaml';
import { codeBlocks, page, ROOT } from './pages.ts';

export const DEPLOY = join(ROOT, 'deploy');
export const COMPOSE_FILES = ['compose.deployment.yml', 'compose.yml'];
export const CHARTS = ['deployment-under-test', 'load'] as const;

export interface Service {
  image: string;
  build?: { context: string; dockerfile: string };
  command: string[] | string;
  deploy?: { replicas: number };
  environment?: Record<string, string>;
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  tmpfs?: string[];
  user?: string;
  volumes?: string[];
  sysctls?: Record<string, string>;
  depends_on?: string[] | Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
  ulimits?: { nofile: { soft: number; hard: number } };
}

export function readDeployed(file: string): string {
  return readFileSync(join(DEPLOY, file), 'utf8');
}

/** @returns the services of a Compose file, with resolved anchors, merges and, if values are given, variables */
export function composeServices(file: string, variables?: Record<string, string>): Record<string, Service> {
  const text = readDeployed(file);
  return servicesIn(variables ? interpolate(text, variables) : text);
}

/** Adapts a configuration to an nginx before 1.27.3, which resolves upstreams only when it starts. */
export function withoutResolver(nginxConfig: string): string {
  return nginxConfig.replace(/^ *resolver .*\n/m, '').replaceAll(' resolve ', ' ');
}

/**
 * Replaces variables like Compose.
 * @throws Error with the message of a required variable that is missing
 */
function interpolate(text: string, variables: Record<string, string>): string {
  return text.replaceAll(/\$\$|\$\{(\w+)(:?)([-?])([^}]*)\}/g, (_, name, orEmpty, operator, rest) => {
    if (name === undefined) return '$';
    const value = variables[name];
    if (value !== undefined && !(orEmpty && value === '')) return value;
    if (operator === '?') throw new Error(`${name}: ${rest}`);
    return rest;
  });
}

export function servicesIn(text: string): Record<string, Service> {
  return parse(text, { merge: true }).services;
}

export function guideCompose(): string {
  const blocks = codeBlocks(page('docs/guide/several-hosts.md'), 'yaml');
  const found = blocks.find((block) => block.startsWith('# compose.yml'));
  if (!found) throw new Error('the guide has no Compose file');
  return found;
}

/** @returns the commands of the guide that build the image, make the folder of results and run it, as Docker reads them */
export function guideDocker() {
  const blocks = codeBlocks(page('docs/guide/several-hosts.md'), 'sh');
  const lines = blocks.join('').replaceAll('\\\n', '').split('\n');
  const wordsOf = (command: string) => {
    const line = lines.find((line) => line.startsWith(`${command} `)) ?? '';
    return (
      line
        .slice(command.length + 1)
        .match(/(?:"[^"]*"|\S)+/g)
        ?.map((word) => word.replaceAll('"', '')) ?? []
    );
  };
  const [text, texts, flag] = [{ type: 'string' }, { type: 'string', multiple: true }, { type: 'boolean' }] as const;
  const build = parseArgs({
    args: wordsOf('docker build'),
    allowPositionals: true,
    options: { file: { ...text, short: 'f' }, tag: { ...text, short: 't' } },
  });
  const run = parseArgs({
    args: wordsOf('docker run'),
    allowPositionals: true,
    options: { rm: flag, 'read-only': flag, tmpfs: texts, volume: texts, ulimit: texts, env: texts },
  });
  const [image, ...command] = run.positionals;
  const prepare = lines.find((line) => line.startsWith('install -d ')) ?? '';
  return { prepare, build: { ...build.values, context: build.positionals[0] }, run: { ...run.values, image, command } };
}

// biome-ignore lint/suspicious/noExplicitAny: a manifest has the shape that Kubernetes gives it, and kubeconform checks it
export type Manifest = any;

/** @returns the objects in a stream of YAML documents, read like Kubernetes, for which 0440 is octal */
export function manifests(text: string): Manifest[] {
  return parseAllDocuments(text, { version: '1.1' })
    .map((document) => {
      const [error] = document.errors;
      if (error) throw error;
      return document.toJS();
    })
    .filter(Boolean);
}
