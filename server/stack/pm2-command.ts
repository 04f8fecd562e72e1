/**
 * PM2's command line, with a home of its own, so that no other PM2 of this user is affected. Its library would add its clients and
 * signal handlers to our process.
 */
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { CapacityError } from '../../protocol/errors.ts';
import { attempt } from '../../protocol/helpers/attempt.ts';
import { logTail } from './logs.ts';
import { environmentMark } from './state/marks.ts';

export interface Pm2Options {
  env?: Record<string, string | undefined>;
  /** Ends the command early. */
  signal?: AbortSignal | undefined;
}

export function hasPm2(): boolean {
  return attempt(requirePm2) !== undefined;
}

/**
 * Only our own stack needs PM2, so users who measure their own server need not install it.
 * @returns the path of its start script
 * @throws CapacityError `NOT_INSTALLED`
 */
export function requirePm2(): string {
  try {
    return createRequire(import.meta.url).resolve('pm2/bin/pm2');
  } catch (cause) {
    const message = 'pm2, which runs the Socket.IO workers of the stack, is not installed.';
    throw new CapacityError('NOT_INSTALLED', message, 'npm install pm2', { cause });
  }
}

/**
 * Runs a command of PM2 while its daemon answers: without one, PM2 would start another daemon, which nothing would name.
 * @returns its stdout
 * @throws CapacityError `START_FAILED`, or the signal's reason
 */
export async function runPm2(pm2Home: string, args: string[], { env, signal }: Pm2Options = {}): Promise<string> {
  if (!(await daemonAnswers(pm2Home))) throw failed(args, logTail(join(pm2Home, 'pm2.log')));
  const {
    stdout,
    all,
    failed: hasFailed,
  } = await execa(process.execPath, [requirePm2(), ...args], {
    all: true,
    reject: false,
    timeout: 120_000,
    extendEnv: false,
    env: { ...pm2Environment(pm2Home), ...env },
    ...(signal && { cancelSignal: signal }),
  });
  if (!hasFailed) return stdout;
  signal?.throwIfAborted();
  throw failed(args, all || logTail(join(pm2Home, 'pm2.log')));
}

/** @returns whether a daemon listens in this home, which holds from its start to its end */
export async function daemonAnswers(pm2Home: string): Promise<boolean> {
  const socket = connect(join(pm2Home, 'rpc.sock'));
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/**
 * Environment of PM2's processes, which the workers inherit: without PM2's own variables (this process could run under another
 * PM2) and those that would redirect our workers.
 */
export function pm2Environment(pm2Home: string): NodeJS.ProcessEnv {
  const excluded = /^(PM2_|pm_|STACK_|REDIS_URL$|NODE_TEST_CONTEXT$|NODE_APP_INSTANCE$)/;
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !excluded.test(name))),
    ...environmentMark(dirname(pm2Home)),
    PM2_HOME: pm2Home,
    PM2_DISCRETE_MODE: 'true', // No banner, no "daemon spawned".
    PM2_DISABLE_VERSION_CHECK: 'true', // Sends nothing to npm.
    PM2_NO_INTERACTION: 'true', // No agent to pm2.io.
  };
}

function failed([command]: string[], output: string): CapacityError {
  const message = `pm2 ${command} failed:\n${output}`;
  return new CapacityError('START_FAILED', message, 'Correct what the lines above, which are PM2’s own, report.');
}
