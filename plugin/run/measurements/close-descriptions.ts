/** Describes why connections closed, for virtual users and for the run's own clients. */
import { closeCodeOf } from '../../../protocol/codes/close-codes.ts';
import { FAILURE_CODES } from '../../../protocol/codes/failure-codes.ts';
import { FINDINGS } from '../../../protocol/codes/finding-codes.ts';
import type { CloseKind } from '../../../protocol/link/close-kinds.ts';
import { type CloseRow, closeRowOf } from './close-rows.ts';

/** Socket.IO's disconnect reason after the server called `disconnect()`. */
export const SERVER_DISCONNECT_REASON = 'io server disconnect';
const MAX_EXAMPLE_LENGTH = 160;

/** Returns whether the connection closed because a message of the client exceeded the size limit. */
export function isTooLarge({ cause, reason, largestSentBytes, maxPayloadBytes }: CloseRow): boolean {
  if (cause === 'closed_1009' || cause === 'http_413') return true;
  return maxPayloadBytes !== null && largestSentBytes.low > maxPayloadBytes && /^transport /.test(reason);
}

/** Returns a text with the size of the too large message and the limit, and the suggested fix. */
export function tooLargeSizes({ cause, largestSentBytes, maxPayloadBytes: taken }: CloseRow): {
  text: string;
  fix: string;
} {
  const sent = `the flow sends ${bytesText(largestSentBytes.high)} bytes`;
  if (taken !== null && largestSentBytes.high > taken) {
    const text = `${sent}, the server takes ${bytesText(taken)} (\`maxHttpBufferSize\`)`;
    return { text, fix: FINDINGS.MESSAGES_TOO_LARGE.remedy };
  }
  const announced = taken === null ? 'the server announces no limit' : `the server announces ${bytesText(taken)}`;
  return {
    text: `${sent}; ${announced}, so the lower limit is that of a proxy in between, or of one of the server’s processes`,
    fix:
      cause === 'http_413'
        ? 'raise the limit of the proxy (nginx: `client_max_body_size`), or send smaller messages'
        : FINDINGS.MESSAGES_TOO_LARGE.remedy,
  };
}

function bytesText(bytes: number): string {
  return bytes.toLocaleString('en-US');
}

/**
 * Returns a text such as `1009 (a message too large: "words")` for a close code or an HTTP status; undefined without
 * either.
 */
export function closeCodeText({ cause, closeText }: Pick<CloseRow, 'cause' | 'closeText'>): string | undefined {
  const known = closeCodeOf(cause);
  const label = known?.code ?? httpStatus(cause);
  if (label === undefined) return undefined;
  const meaning = [known?.meaning, closeText && JSON.stringify(closeText)].filter(Boolean).join(': ');
  return `${label}${meaning && ` (${meaning})`}`;
}

export function httpStatus(cause: string): string | undefined {
  const status = /^http_(\d+)$/.exec(cause)?.[1];
  return status && `HTTP ${status}`;
}

/** Returns a text such as `; the last event before: kick "Last heartbeat …"`; empty if the server sent no event. */
export function lastEventText({ event, eventText }: CloseRow): string {
  if (event === '') return '';
  const text = `${event} ${eventText}`.trim();
  return `; the last event before: ${text.length <= MAX_EXAMPLE_LENGTH ? text : `${text.slice(0, MAX_EXAMPLE_LENGTH - 1)}…`}`;
}

/** Describes why a connection closed. */
export interface CloseDescription {
  /** Text with the cause, such as `the server closed it with 4000 (…)`. */
  text: string;
  fix?: string | undefined;
  /** Whether the text gives the cause. If not, the client's last message may be the cause. */
  isExplained: boolean;
  /** Whether the run itself closed the connection because of one of its limits. */
  isOwn?: boolean;
}

export function describeClose(kind: CloseKind): CloseDescription {
  const row = closeRowOf(kind);
  const { reason, cause, closeText } = row;
  if (cause === 'message_too_large')
    return {
      text: `the run itself closed it: ${closeText}`,
      fix: FAILURE_CODES[cause]?.remedy,
      isExplained: true,
      isOwn: true,
    };
  const code = closeCodeText(row);
  const closed = code === undefined ? undefined : `the server closed it with ${code}`;
  if (isTooLarge(row)) {
    const { text, fix } = tooLargeSizes(row);
    return { text: `${closed ?? `it was closed (${reason})`}: ${text}`, fix, isExplained: true };
  }
  const lastEvent = lastEventText(row);
  if (reason === SERVER_DISCONNECT_REASON) {
    const fix =
      'see why the application calls `disconnect()`; if it lets each user connect once, give every client a user of its own (`payload`, or `{{ $uuid }}`)';
    return { text: `the server itself disconnected it (${reason})${lastEvent}`, fix, isExplained: lastEvent !== '' };
  }
  const ended = cause === 'closed_1006' || closed === undefined ? `it ended (${reason})` : closed;
  return {
    text: `${ended}${lastEvent}`,
    fix: lastEvent === '' ? undefined : closeCodeOf(cause)?.remedy,
    isExplained: false,
  };
}
