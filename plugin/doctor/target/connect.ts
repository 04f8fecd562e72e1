/** Socket.IO's own connect, as each virtual user makes it: with the scenario's transports, namespace and `auth`. */
import type { Socket } from 'socket.io-client';
import type { CapacityError } from '../../../protocol/errors.ts';
import { connectOfficial, knock } from '../../run/receivers/official-client.ts';
import type { Subject, TargetCheck } from './target-check.ts';

/** Their requests reach a wrong worker by chance. */
const POLLING_TRIES = 4;

/** @param hasControl a run then connects receivers of its own, which the server has to accept */
export async function checkConnect({ connection, signal }: Subject, hasControl: boolean): Promise<TargetCheck> {
  const { namespace, transports, auth } = connection;
  const tried = `a connection to namespace ${namespace} with ${transports.join(' and ')}${auth ? ' and the scenario’s auth' : ''}`;
  const check = { name: 'connect' as const, tried };
  const startMs = performance.now();
  try {
    const socket = await connectOfficial(connection, signal);
    const tookMs = performance.now() - startMs;
    socket.disconnect();
    return { ...check, status: 'ok', found: `accepted after ${tookMs.toFixed(1)} ms` };
  } catch (error) {
    const { message, fix } = error as CapacityError;
    const refused = hasControl ? undefined : await knock(connection, signal).catch(() => undefined);
    if (refused === undefined) return { ...check, status: 'failed', found: message, fix };
    return {
      ...check,
      status: 'warning',
      found: `the server refused a connection without a virtual user's own values: ${refused}`,
      fix: 'none is needed if each virtual user brings what the server asks for',
    };
  }
}

/** Where the scenario polls, all requests of a session have to reach the worker that opened it. */
export async function checkPolling({ connection, signal }: Subject): Promise<TargetCheck[]> {
  if (!connection.transports.includes('polling')) return [];
  const check = {
    name: 'polling' as const,
    tried: `${POLLING_TRIES} connections by polling, each of several requests`,
  };
  const polling = { ...connection, transports: ['polling' as const] };
  const tries = await Promise.allSettled(Array.from({ length: POLLING_TRIES }, () => connectOfficial(polling, signal)));
  const opened = tries.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  for (const socket of opened as Socket[]) socket.disconnect();
  const failed = tries.find((one) => one.status === 'rejected');
  if (!failed) return [{ ...check, status: 'ok', found: 'all stayed with the worker that opened them' }];
  const { message, fix } = failed.reason as CapacityError;
  return [{ ...check, status: 'failed', found: `${tries.length - opened.length} failed: ${message}`, fix }];
}
