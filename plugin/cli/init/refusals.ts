/** Errors and suggestions of `init` for a server that refuses its clients or closes their connections. */
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { CloseDescription } from '../../run/measurements/close-descriptions.ts';

const UNSEEN = 'or write the scenario without looking at the server: --listen 0';
export const CREDENTIALS_FIX = [
  'give what the server asks for: --namespace /chat, --auth \'{"username": "ann"}\',',
  '--headers \'{"Authorization": "Bearer …"}\', --emit \'["login", "ann"]\',',
  '--login \'{"post": {"url": "/login", "json": {"user": "ann", "password": "…"}}}\';',
  UNSEEN,
].join('\n  ');
/** Suggestion for the error message if a step of the flow fails because of the server's answer. */
export const FAILED_STEP_FIX = `correct that step in --login or --emit; ${UNSEEN}`;
export const SEPARATE_USERS_FIX = `the client before it was accepted: give each a user of its own, as --auth '{"username": "{{ $uuid }}"}';
  ${UNSEEN}, and add a payload of users`;
export const WRONG_URL_FIX = `or correct --url or --path, or give what it asks for (--auth, --headers, --login); ${UNSEEN}`;

/** Error for a connection that the server refused or closed, because a value from the client is wrong or missing. */
export class ClientRefusedError extends CapacityError {
  /** Failure code of the failed step, if a step failed. */
  readonly step: string | undefined;

  constructor(message: string, fix: string, step?: string) {
    super('TARGET_UNREACHABLE', message, fix);
    this.step = step;
  }
}

/** A connection that the server accepted and then closed. */
export interface AcceptedThenClosed {
  ending: CloseDescription;
  afterSeconds: number;
}

/**
 * Returns the error for a connection that the server closed.
 * @param context.emitted names of the events that the flow emits
 * @param context.isOnly whether the connection of the other client stayed open
 */
export function serverClosedError(
  url: string,
  { ending, afterSeconds }: AcceptedThenClosed,
  { emitted, isOnly }: { emitted: string[]; isOnly: boolean },
): CapacityError {
  const silent = ending.text.includes('last event') ? '' : '; it had sent no event';
  const message = `the server accepted the connection to ${url}, and ended it after ${afterSeconds.toFixed(1)} s: ${ending.text}${silent}`;
  const names = emitted.map((event) => JSON.stringify(event)).join(' and ');
  const fix = isOnly
    ? SEPARATE_USERS_FIX.replace('it was accepted', 'stayed connected')
    : emitted.length > 0
      ? `check what ${names} sends: a login may have a wrong value; or ${CREDENTIALS_FIX}`
      : `see what a client must send to stay connected, such as a login within that time; ${CREDENTIALS_FIX}`;
  return new ClientRefusedError(message, fix);
}
