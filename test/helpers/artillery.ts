import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';

const artillery = join(dirname(createRequire(import.meta.url).resolve('artillery/package.json')), 'bin/run');

/** Runs `artillery run` with this script, in a new folder with `files`. */
export async function runArtillery(script: object, files: Record<string, string> = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'artillery-test-'));
  try {
    const report = join(directory, 'report.json');
    await writeFile(join(directory, 'script.json'), JSON.stringify(script));
    for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
    const env = { ...process.env, ARTILLERY_DISABLE_TELEMETRY: 'true', NODE_OPTIONS: '' };
    const args = [artillery, 'run', '--output', report, 'script.json'];
    const { exitCode, all: output } = await execa(process.execPath, args, {
      ...{ cwd: directory, env, all: true, reject: false },
    });
    const { aggregate = {} } = JSON.parse(await readFile(report, 'utf8').catch(() => '{}'));
    const counters: Record<string, number> = aggregate.counters ?? {};
    const summaries: Record<string, { count: number; max: number; mean: number }> = aggregate.summaries ?? {};
    return { exitCode, output, counters, summaries };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
