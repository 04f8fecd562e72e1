/** Redis for the adapter: one of our own, or somebody's. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'redis';
import { CapacityError } from '../../protocol/errors.ts';
import { logTail } from './logs.ts';
import { type DetachedProcess, spawnDetached, terminate } from './processes.ts';

const START_TIMEOUT_MS = 10_000;

/**
 * Starts a Redis that keeps nothing on disk: it only passes messages on. Resolves when it answers.
 * @throws CapacityError `REDIS_FAILED`
 */
export async function startRedis(
  redisServer: string,
  port: number,
  dir: string,
  logDir: string,
): Promise<DetachedProcess> {
  const logFile = join(logDir, 'redis.log');
  const settings = { port, bind: '127.0.0.1', dir, save: '', appendonly: 'no', daemonize: 'no' };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const redis = await spawnDetached(redisServer, args, logFile);
  let ended = false;
  redis.exited.then(() => {
    ended = true;
  });
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!ended && performance.now() < deadline) {
    if ((await pingRedis(localRedisUrl(port))) === undefined) return redis;
    await sleep(25);
  }
  await terminate([redis], 2_000);
  throw new CapacityError(
    'REDIS_FAILED',
    `redis-server did not start:\n${logTail(logFile)}`,
    'The lines above are its own.',
  );
}

export function localRedisUrl(port: number): string {
  return `redis://127.0.0.1:${port}`;
}

/** @throws CapacityError `REDIS_FAILED` when the Redis that the user named does not answer */
export async function assertRedisAnswers(url: string): Promise<void> {
  const problem = await pingRedis(url);
  if (!problem) return;
  const { host } = new URL(url); // Without the password.
  throw new CapacityError(
    'REDIS_FAILED',
    `The Redis at ${host} does not answer.`,
    'Check REDIS_URL, or leave it out: the stack then starts a Redis of its own.',
    { cause: problem },
  );
}

/** @returns undefined when it answers, else why not */
async function pingRedis(url: string): Promise<Error | undefined> {
  const client = createClient({ url, socket: { reconnectStrategy: false, connectTimeout: 2_000 } });
  // The client also rejects; without a listener the event would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    await client.ping();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  } finally {
    if (client.isOpen) client.destroy();
  }
}
