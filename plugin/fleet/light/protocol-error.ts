import type { FailureCode } from '../../../protocol/codes/failure-codes.ts';
import { type ConnectionFailure, SOCKET_IO_2_FAILURE, tooLargeText } from '../client/failure.ts';

/** A protocol violation by the server. */
export class ProtocolError extends Error {
  /** Failure to report if no namespace is connected yet. */
  readonly failure: ConnectionFailure;
  /** Socket.IO's disconnect reason to report if a namespace is connected. */
  readonly reason: string;

  constructor(failure: ConnectionFailure, reason: string) {
    super(failure.message);
    this.name = 'ProtocolError';
    this.failure = failure;
    this.reason = reason;
  }
}

const violation = (cause: FailureCode, reason: string) => (message: string) =>
  new ProtocolError({ cause, message }, reason);

export const webSocketError = violation('not_websocket', 'transport error');
export const httpError = violation('not_http', 'transport error');
export const engineIoError = violation('not_engineio', 'transport error');
export const socketIoError = violation('not_socketio', 'parse error');
const unreadable = violation('unreadable_data', 'parse error');
const tooLarge = violation('message_too_large', 'message too large');

export function socketIo2Error(): ProtocolError {
  return new ProtocolError(SOCKET_IO_2_FAILURE, 'parse error');
}

/** Converts any error thrown while reading to a ProtocolError. */
export function protocolError(error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error;
  return unreadable(error instanceof Error ? error.message : String(error));
}

/**
 * Returns the error for a message that is too large.
 * @param maxBytes largest allowed message
 * @param bytes size of the message; undefined if unknown
 */
export function messageTooLarge(maxBytes: number, bytes?: number): ProtocolError {
  return tooLarge(tooLargeText(maxBytes, bytes));
}
