import type { FailureCode } from '../../../protocol/failure-codes.ts';

/** The server violated a protocol. Each layer names the cause, for before and after the connection is open. */
export class ProtocolError extends Error {
  /** Cause of the failed attempt, if no namespace is connected yet. */
  readonly failure: FailureCode;
  /** Socket.IO's reason for the disconnect, if a namespace is connected. */
  readonly reason: string;

  constructor(failure: FailureCode, reason: string, message: string) {
    super(message);
    this.name = 'ProtocolError';
    this.failure = failure;
    this.reason = reason;
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
