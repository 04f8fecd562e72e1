/** Hardware and software of a bench, for others to reproduce its figures, or to explain why theirs differ. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, release, type as systemType, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { attempt } from '../protocol/base/attempt.ts';

export type Machine = ReturnType<typeof describeMachine>;

const require = createRequire(import.meta.url);

/** @param packages whose installed versions matter */
export function describeMachine(packages: string[]) {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    kernel: `${systemType()} ${release()}`,
    versions: Object.fromEntries([
      ['node', process.version],
      ...packages.map((name) => [name, versionOf(name)]),
    ]) as Record<string, string>,
    gitCommit: firstLine('git', ['rev-parse', 'HEAD']) ?? null,
  };
}

/** @returns the first line that the program prints; undefined if there is no such program */
export function firstLine(program: string, args: string[]): string | undefined {
  const output = attempt(() => execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  return output?.split('\n')[0]?.trim();
}

export function machineLines({ cpu, cores, memoryGiB, kernel, versions, gitCommit }: Machine): string[] {
  return [
    `- Machine: ${cpu}, ${cores} cores, ${memoryGiB} GiB of memory, ${kernel}`,
    `- Versions: ${Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}`,
    ...(gitCommit ? [`- Commit: ${gitCommit.slice(0, 12)}`] : []),
  ];
}

/** Not every package exports its package.json, so it is searched for above the entry point. */
function versionOf(name: string): string {
  for (let folder = dirname(require.resolve(name)); folder !== dirname(folder); folder = dirname(folder)) {
    const about = attempt(() => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));
    if (about?.name === name) return about.version;
  }
  return 'unknown';
}
