import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const artillery = join(dirname(createRequire(import.meta.url).resolve('artillery/package.json')), 'bin/run');

interface ArtilleryRun {
  exitCode: number | null;
  /** Standard output and error, interleaved. */
  output: string;
  counters: Record<string, number>;
  summaries: Record<string, { count: number; max: number; mean: number }>;
}

/** Runs `artillery run` on the script, in a new directory with `files` beside it. */
export async function runArtillery(script: object, files: Record<string, string> = {}): Promise<ArtilleryRun> {
  const directory = await mkdtemp(join(tmpdir(), 'artillery-test-'));
  try {
    const report = join(directory, 'report.json');
    await writeFile(join(directory, 'script.json'), JSON.stringify(script));
    for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
    const child = spawn(process.execPath, [artillery, 'run', '--output', report, 'script.json'], {
      cwd: directory,
      env: { ...process.env, ARTILLERY_DISABLE_TELEMETRY: 'true', NODE_OPTIONS: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    child.stdout.on('data', (data) => (output += data));
    child.stderr.on('data', (data) => (output += data));
    const exitCode = await new Promise<number | null>((resolve) => child.on('close', resolve));
    const { aggregate = {} } = JSON.parse(await readFile(report, 'utf8').catch(() => '{}'));
    return { exitCode, output, counters: aggregate.counters ?? {}, summaries: aggregate.summaries ?? {} };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
