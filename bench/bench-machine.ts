/** Describes the hardware and software of a bench, so that readers can reproduce its figures or explain differences. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, release, type as systemType, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { tryOrUndefined } from '../protocol/base/try-or-undefined.ts';

export type BenchMachine = ReturnType<typeof describeMachine>;

const require = createRequire(import.meta.url);

/** @param packages names of npm packages whose installed versions are reported */
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

/** Returns the first line of the program's output; undefined if the program is missing or fails. */
export function firstLine(program: string, args: string[]): string | undefined {
  const output = tryOrUndefined(() =>
    execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  );
  return output?.split('\n')[0]?.trim();
}

export function machineLines({ cpu, cores, memoryGiB, kernel, versions, gitCommit }: BenchMachine): string[] {
  return [
    `- Machine: ${cpu}, ${cores} cores, ${memoryGiB} GiB of memory, ${kernel}`,
    `- Versions: ${Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}`,
    ...(gitCommit ? [`- Commit: ${gitCommit.slice(0, 12)}`] : []),
  ];
}

/** Searches the folders above the entry point for package.json, because some packages do not export it. */
function versionOf(name: string): string {
  for (let folder = dirname(require.resolve(name)); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = tryOrUndefined(() => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));
    if (manifest?.name === name) return manifest.version;
  }
  return 'unknown';
}
