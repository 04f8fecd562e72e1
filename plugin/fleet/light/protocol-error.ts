import type { FailureCode } from '../../../protocol/codes/failure-codes.ts';
import type { Failure } from '../client/http-answer.ts';

/** The server violated a protocol. Each layer names the cause, for before and after the connection is open. */
export class ProtocolError extends Error {
  /** Cause of the failed attempt, if no namespace is connected yet. */
  readonly failure: FailureCode;
  /** Socket.IO's reason for the disconnect, if a namespace is connected. */
  readonly reason: string;
  /** How long the server asks to stay away. */
  readonly retryAfterMs: number | undefined;

  constructor(failure: FailureCode, reason: string, message: string, retryAfterMs?: number) {
    super(message);
    this.name = 'ProtocolError';
    this.failure = failure;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** For an error that reading caused, and that no layer has a name for. */
export function unreadable(error: unknown): ProtocolError {
  const message = error instanceof Error ? error.message : String(error);
  return new ProtocolError('unreadable_data', 'parse error', message);
}

export function webSocketError(message: string): ProtocolError {
  return new ProtocolError('not_websocket', 'transport error', message);
}

/** @param maxBytes that a message may have */
export function messageTooLarge(maxBytes: number): ProtocolError {
  return new ProtocolError('message_too_large', 'message too large', `a message of more than ${maxBytes} bytes`);
}

/** The server refuses, in HTTP. */
export function refused({ cause, message, retryAfterMs }: Failure): ProtocolError {
  return new ProtocolError(cause, 'transport error', message, retryAfterMs);
}

export function httpError(message: string): ProtocolError {
  return new ProtocolError('not_http', 'transport error', message);
}

export function engineIoError(message: string): ProtocolError {
  return new ProtocolError('not_engineio', 'parse error', message);
}

export function socketIoError(message: string): ProtocolError {
  return new ProtocolError('not_socketio', 'parse error', message);
}
