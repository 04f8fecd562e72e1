/** What an HTTP server says when it does not upgrade, in the same words for both clients. */
import type { FailureCode } from '../../../protocol/codes/failure-codes.ts';

export interface Failure {
  cause: FailureCode;
  message: string;
  /** How long the server asks to stay away. */
  retryAfterMs?: number | undefined;
}

interface HttpAnswer {
  status: number;
  /** The text of the status, if known. */
  reason?: string | undefined;
  location?: string | undefined;
  retryAfter?: string | undefined;
  /** As much as has arrived. */
  body?: string;
}

const MAX_BODY_LENGTH = 200;
/** For the first bytes of a body, once the head has refused a WebSocket. */
export const BODY_TIMEOUT_MS = 1000;

export function httpFailure({ status, reason = '', location, retryAfter, body = '' }: HttpAnswer): Failure {
  const said = [
    `the server answered ${status} ${reason}`.trim(),
    location && `Location: ${location}`,
    retryAfter && `Retry-After: ${retryAfter}`,
    body.trim().slice(0, MAX_BODY_LENGTH),
  ];
  const failure: Failure = { cause: `http_${status}`, message: said.filter(Boolean).join(', ') };
  const retryAfterMs = durationOf(retryAfter);
  return retryAfterMs === undefined ? failure : { ...failure, retryAfterMs };
}

/** @param retryAfter seconds, or a date of HTTP */
function durationOf(retryAfter: string | undefined): number | undefined {
  if (retryAfter === undefined) return undefined;
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
