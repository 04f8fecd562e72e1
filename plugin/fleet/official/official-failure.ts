/** Extracts the cause of a failed connect from the nested errors of socket.io-client. */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { FailureCode } from '../../../protocol/codes/failure-codes.ts';
import { type Failure, httpFailure, networkFailure } from '../client/failure.ts';

/** engine.io-client's error if the transport worked but received no Engine.IO packet. */
const UNKNOWN_PACKET = 'server error';

/** engine.io-client's TransportError, around an error of its transport: `ws` or XMLHttpRequest. */
interface TransportError extends Error {
  /** An HTTP status (0 without an answer), an Error, or the ErrorEvent of `ws`. */
  description?: unknown;
  /** The XMLHttpRequest, or the CloseEvent of `ws`. */
  context?: unknown;
}

interface PollingRequest {
  statusText: unknown;
  responseText: unknown;
  getResponseHeader(name: string): string | null;
}

/** @param error error emitted by the Manager before it was open */
export function failureOf(error: TransportError): Failure {
  const { description } = error;
  if (typeof description === 'number') return requestFailure(description, error.context);
  if (description instanceof Error) return socketFailure(description);
  const inner = (description as { error?: unknown } | undefined)?.error;
  if (inner instanceof Error) return socketFailure(inner);
  if (error.message === UNKNOWN_PACKET) return { cause: 'not_engineio', message: 'no Engine.IO handshake' };
  return { cause: 'closed', message: error.message };
}

/**
 * @param reason reason of the disconnect before any namespace was connected
 * @param details includes the CloseEvent of `ws` if that ended the connection
 */
export function endFailure(reason: string, details: unknown): Failure {
  const { description } = (details ?? {}) as TransportError;
  const inner = (description as { error?: NodeJS.ErrnoException } | undefined)?.error;
  if (inner?.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') return socketFailure(inner);
  if ((details as Error | undefined)?.message === UNKNOWN_PACKET)
    return { cause: 'not_engineio', message: 'unknown Engine.IO packet' };
  if (reason === 'parse error') return { cause: 'not_socketio', message: 'no Socket.IO packet' };
  if (typeof description === 'number' && description > 0) {
    return requestFailure(description, (details as TransportError).context);
  }
  const { code, reason: closeReason } = closeEventOf(details);
  // `ws` reports 1006 for an end without a close frame.
  const cause: FailureCode = typeof code === 'number' && code !== 1006 ? `closed_${code}` : 'closed';
  return { cause, message: `${reason} ${closeReason ?? ''}`.trim() };
}

/** Returns the failure of an open connection that closed; its message contains only the server's text. */
export function closeOf(reason: string, details: unknown): Failure {
  const failure = endFailure(reason, details);
  const { code, reason: words = '' } = closeEventOf(details);
  if (!/^closed/.test(failure.cause)) return failure;
  return code === undefined ? { cause: 'closed', message: '' } : { cause: `closed_${code}`, message: words };
}

/** Returns the CloseEvent of `ws`, if one ended the connection. */
function closeEventOf(details: unknown): { code?: number; reason?: string } {
  return ((details as TransportError | undefined)?.context ?? {}) as { code?: number; reason?: string };
}

/** Returns the reason why a WebSocket was refused, with the part of the body that arrived with the head. */
export function refusalOf(response: IncomingMessage): Failure {
  const body = String(response.read() ?? '');
  const header = (name: string) => [response.headers[name]].flat()[0];
  return httpFailure({ status: response.statusCode ?? 0, reason: response.statusMessage, header, body });
}

/** @param stage the stage that timed out: the connection, or its first namespace */
export function timeoutFailure(stage: 'open' | 'namespace', timeoutMs: number): Failure {
  return { cause: `timeout_${stage}`, message: `no answer within ${timeoutMs} ms (${stage})` };
}

/** @param request XMLHttpRequest of the polling transport */
function requestFailure(status: number, request: unknown): Failure {
  const { statusText, responseText, getResponseHeader } = (request ?? {}) as Partial<PollingRequest>;
  if (status === 0 && statusText instanceof Error) return socketFailure(statusText);
  if (status === 0) return { cause: 'closed', message: 'the request was aborted' };
  const header = (name: string) => getResponseHeader?.call(request, name) ?? undefined;
  return httpFailure({
    status,
    reason: STATUS_CODES[status],
    header,
    body: typeof responseText === 'string' ? responseText : '',
  });
}

function socketFailure(error: NodeJS.ErrnoException): Failure {
  const { message, code } = error;
  if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') return { cause: 'message_too_large', message };
  // `ws` reports only this text about a failed upgrade.
  const status = /^Unexpected server response: (\d+)/.exec(message)?.[1];
  if (status !== undefined) return { cause: `http_${status}`, message: `the server answered ${status}` };
  const isNotWebSocket =
    /^Invalid (Upgrade|Sec-WebSocket)|^Server (sent|indicated)/.test(message) || /^(HPE|WS|Z)_/.test(code ?? '');
  if (isNotWebSocket) return { cause: 'not_websocket', message };
  // Node's http reports a close without a response as a reset.
  if (message === 'socket hang up') return { cause: 'closed', message };
  return networkFailure(error);
}
