import { join } from 'node:path';
import { execa } from 'execa';

const CLI = join(import.meta.dirname, '../../plugin/hook/cli.js');

/** Runs `npx socketio-capacity` in a folder, without a terminal. */
export async function cli(cwd: string, ...args: string[]) {
  const { exitCode, stdout, stderr } = await execa(process.execPath, [CLI, ...args], { cwd, reject: false });
  return { code: exitCode, stdout, stderr };
}
