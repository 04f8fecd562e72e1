import type { FailureCode } from '../../../protocol/codes/failure-codes.ts';
import { type Failure, SOCKET_IO_2, tooLargeText } from '../client/failure.ts';

/** A protocol violation by the server. Has a cause for connections being set up, and a reason for open ones. */
export class ProtocolError extends Error {
  /** Failure of the attempt, if no namespace is connected yet. */
  readonly failure: Failure;
  /** Socket.IO's disconnect reason, if a namespace is connected. */
  readonly reason: string;

  constructor(failure: Failure, reason: string) {
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
  return new ProtocolError(SOCKET_IO_2, 'parse error');
}

/** Converts any error thrown while reading. */
export function protocolError(error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error;
  return unreadable(error instanceof Error ? error.message : String(error));
}

/** @param maxBytes limit of a message @param bytes size of the message, if known */
export function messageTooLarge(maxBytes: number, bytes?: number): ProtocolError {
  return tooLarge(tooLargeText(maxBytes, bytes));
}
