/** Socket.IO's own connect, as each virtual user makes it: with the scenario's transports, namespace and `auth`. */
import type { Socket } from 'socket.io-client';
import type { CapacityError } from '../../../protocol/errors.ts';
import { come } from '../../run/receivers/come.ts';
import { connectOfficial, Refused } from '../../run/receivers/official-client.ts';
import type { Subject, TargetCheck } from './target-check.ts';

/** Their requests reach a wrong worker by chance. */
const POLLING_TRIES = 4;

/** @returns the check, and how a virtual user is connected, with what the flow has brought: that is what others have to try */
export async function checkConnect({ connection, clients, signal }: Subject, hasControl: boolean) {
  const { namespace, transports, auth } = connection;
  const bare = `a connection to namespace ${namespace} with ${transports.join(' and ')}${auth ? ' and the scenario’s auth' : ''}`;
  const tried = clients.areUsers ? 'a client that comes as the scenario’s virtual users do, up to its join' : bare;
  const check = { name: 'connect' as const, tried };
  const startMs = performance.now();
  try {
    const came = await come(clients.next(), signal);
    const tookMs = performance.now() - startMs;
    came.socket.disconnect();
    const found: TargetCheck = { ...check, status: 'ok', found: `accepted after ${tookMs.toFixed(1)} ms` };
    return { check: found, connection: came.connection };
  } catch (error) {
    return { check: { ...check, ...refusalOf(error as CapacityError, clients.areUsers || hasControl) }, connection };
  }
}

function refusalOf(error: CapacityError, isNeeded: boolean): Pick<TargetCheck, 'status' | 'found' | 'fix'> {
  const { message, fix } = error;
  if (isNeeded || !(error instanceof Refused)) return { status: 'failed', found: message, fix };
  return {
    status: 'warning',
    found: `the server refused a connection without a virtual user's own values: ${error.said}`,
    fix: 'name the scenario, so that it is tried as a virtual user comes: doctor <scenario> --target <url>',
  };
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
