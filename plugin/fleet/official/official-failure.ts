/** Extracts the cause of a failed connect from the nested errors of socket.io-client. */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { FailureCode } from '../../../protocol/codes/failure-codes.ts';
import { type ConnectionFailure, httpFailure, networkFailure } from '../client/failure.ts';

/** Message of engine.io-client's error if the transport works but the data is not Engine.IO. */
const UNKNOWN_PACKET = 'server error';

/** TransportError of engine.io-client. It contains the error of `ws` or XMLHttpRequest. */
interface TransportError extends Error {
  /** HTTP status (0 without a response), an Error, or the ErrorEvent of `ws`. */
  description?: unknown;
  /** XMLHttpRequest, or the CloseEvent of `ws`. */
  context?: unknown;
}

interface PollingRequest {
  statusText: unknown;
  responseText: unknown;
  getResponseHeader(name: string): string | null;
}

/**
 * Returns the failure of a connection attempt.
 * @param error error that the Manager emitted before it was open
 */
export function connectFailureOf(error: TransportError): ConnectionFailure {
  const { description } = error;
  if (typeof description === 'number') return requestFailure(description, error.context);
  if (description instanceof Error) return socketFailure(description);
  const inner = (description as { error?: unknown } | undefined)?.error;
  if (inner instanceof Error) return socketFailure(inner);
  if (error.message === UNKNOWN_PACKET) return { cause: 'not_engineio', message: 'no Engine.IO handshake' };
  return { cause: 'closed', message: error.message };
}

/**
 * Returns the failure of a connection that ended before any namespace was connected.
 * @param reason Socket.IO's disconnect reason
 * @param details includes the CloseEvent of `ws`, if any
 */
export function failureBeforeNamespace(reason: string, details: unknown): ConnectionFailure {
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
  // Code 1006 means that there was no close frame.
  const cause: FailureCode = typeof code === 'number' && code !== 1006 ? `closed_${code}` : 'closed';
  return { cause, message: `${reason} ${closeReason ?? ''}`.trim() };
}

/** Returns why an open connection was closed, with the server's text as message. */
export function closeFailure(reason: string, details: unknown): ConnectionFailure {
  const failure = failureBeforeNamespace(reason, details);
  const { code, reason: words = '' } = closeEventOf(details);
  if (!/^closed/.test(failure.cause)) return failure;
  return code === undefined ? { cause: 'closed', message: '' } : { cause: `closed_${code}`, message: words };
}

/** Returns the CloseEvent of `ws`; an empty object if there was none. */
function closeEventOf(details: unknown): { code?: number; reason?: string } {
  return ((details as TransportError | undefined)?.context ?? {}) as { code?: number; reason?: string };
}

/** Returns why the server refused the upgrade to WebSocket, with the received part of the body. */
export function upgradeRefusal(response: IncomingMessage): ConnectionFailure {
  const body = String(response.read() ?? '');
  const header = (name: string) => [response.headers[name]].flat()[0];
  return httpFailure({ status: response.statusCode ?? 0, reason: response.statusMessage, header, body });
}

/**
 * Returns the failure after a timeout.
 * @param stage stage that timed out: opening the connection, or opening its first namespace
 */
export function timeoutFailure(stage: 'open' | 'namespace', timeoutMs: number): ConnectionFailure {
  return { cause: `timeout_${stage}`, message: `no answer within ${timeoutMs} ms (${stage})` };
}

/**
 * Returns the failure of a polling request.
 * @param request XMLHttpRequest of the request
 */
function requestFailure(status: number, request: unknown): ConnectionFailure {
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

function socketFailure(error: NodeJS.ErrnoException): ConnectionFailure {
  const { message, code } = error;
  if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') return { cause: 'message_too_large', message };
  // The HTTP status of a failed upgrade is available only in this error message of `ws`.
  const status = /^Unexpected server response: (\d+)/.exec(message)?.[1];
  if (status !== undefined) return { cause: `http_${status}`, message: `the server answered ${status}` };
  const isNotWebSocket =
    /^Invalid (Upgrade|Sec-WebSocket)|^Server (sent|indicated)/.test(message) || /^(HPE|WS|Z)_/.test(code ?? '');
  if (isNotWebSocket) return { cause: 'not_websocket', message };
  // Node's http reports a connection that was closed without a response as a reset.
  if (message === 'socket hang up') return { cause: 'closed', message };
  return networkFailure(error);
}
