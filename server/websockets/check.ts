/** Whether the workers could run on a WebSocket server, before anything is started. */
import { extname, join, resolve } from 'node:path';
import { execa } from 'execa';
import { CapacityError } from '../../protocol/errors.ts';
import { PLAIN } from './index.ts';

const PROCESS = join(import.meta.dirname, `check-process${extname(import.meta.filename)}`);

/**
 * @param node path of the Node that runs the workers
 * @param name a value of `CAPACITY_WEBSOCKETS`
 * @param modules that of `CAPACITY_MODULES`
 * @throws CapacityError NOT_INSTALLED
 */
export async function checkWebSockets(node: string, name: string, modules: string | undefined): Promise<void> {
  if (name === PLAIN) return;
  const args = [PROCESS, name, ...(modules ? [resolve(modules)] : [])];
  const { stdout, stderr, exitCode } = await execa(node, args, { reject: false, timeout: 30_000 });
  const found = stdout.startsWith('{') ? JSON.parse(stdout) : undefined;
  if (found) throw new CapacityError(found.code, found.message, found.fix);
  if (exitCode === 0) return;
  const message = `a server on ${name} does not start under ${node}: ${stderr.trim().split('\n').at(-1)}`;
  throw new CapacityError('NOT_INSTALLED', message, 'install the package for this version of Node');
}
