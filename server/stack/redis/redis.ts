/** Redis for the adapter: our own, or the user's. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from 'redis';
import { CapacityError } from '../../../protocol/errors.ts';
import { startServer } from '../server-process.ts';
import type { ProcessRef } from '../state/processes.ts';

/** A Redis of ours that is yet to be started. */
export interface RedisToStart {
  /** With port and password. */
  url: string;
  /** For its configuration, and what it writes; made if it does not exist. */
  dir: string;
  logFile: string;
  /** Where the other nodes of its cluster reach it; undefined outside a cluster. */
  busPort?: number | undefined;
}

/** @returns the address of a Redis that is yet to be started, with a new password */
export function newRedisUrl(port: number): string {
  return `redis://:${randomBytes(24).toString('base64url')}@127.0.0.1:${port}`;
}

/**
 * Starts a Redis without persistence, as it only relays messages. Resolves when it answers.
 * @param onStart called as soon as the process exists
 * @throws CapacityError `START_FAILED`
 */
export async function startRedis(
  redisServer: string,
  { url, dir, logFile, busPort }: RedisToStart,
  onStart?: (redis: ProcessRef) => void,
): Promise<ProcessRef> {
  const { port, password } = new URL(url);
  // In a file, as every user can read command lines; with a password, as every user of this machine can connect.
  const settings = { port, bind: '127.0.0.1', requirepass: password, dir, save: '', appendonly: 'no', daemonize: 'no' };
  const asNode = { 'cluster-enabled': 'yes', 'cluster-port': busPort, 'cluster-announce-ip': '127.0.0.1' };
  const lines = Object.entries({ ...settings, ...(busPort !== undefined && asNode) }).map(
    ([name, value]) => `${name} ${JSON.stringify(String(value))}\n`,
  );
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const configFile = join(dir, 'redis.conf');
  writeFileSync(configFile, lines.join(''), { mode: 0o600 });

  return startServer({
    name: 'redis-server',
    program: redisServer,
    args: [configFile],
    logFile,
    fix: 'Correct what the lines above, from its own log, report.',
    answers: async () => (await pingRedis(url)) === undefined,
    onStart,
  });
}

/** @throws CapacityError `START_FAILED` when the Redis that the user named does not answer */
export async function assertRedisAnswers(url: string): Promise<void> {
  const problem = await pingRedis(url);
  if (!problem) return;
  const { host } = new URL(url); // Without the password.
  throw new CapacityError(
    'REDIS_UNREACHABLE',
    `The Redis at ${host} does not answer.`,
    'Check REDIS_URL, or unset it, so that the stack starts its own Redis.',
    { cause: problem },
  );
}

/** @returns undefined if it answers, otherwise the error */
async function pingRedis(url: string): Promise<Error | undefined> {
  try {
    await askRedis(url, ['PING']);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Over a connection for this one command. @throws Error of the connection, or of the command */
export async function askRedis(url: string, command: string[]): Promise<string> {
  const client = createClient({ url, socket: { reconnectStrategy: false, connectTimeout: 2_000 } });
  // The client also rejects; without a listener the event would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return String(await client.sendCommand(command));
  } finally {
    if (client.isOpen) client.destroy();
  }
}
