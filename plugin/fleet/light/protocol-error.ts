/** The server broke a protocol. Each layer has its own names for that, before and after the connection is open. */
export class ProtocolError extends Error {
  /** Cause of the failed attempt, if it was not open yet. */
  readonly failure: string;
  /** Reason for its end, if it was. */
  readonly reason: string;

  constructor(failure: string, reason: string, message: string) {
    super(message);
    this.name = 'ProtocolError';
    this.failure = failure;
    this.reason = reason;
  }
}

export function webSocketError(message: string): ProtocolError {
  return new ProtocolError('not_websocket', 'transport error', message);
}
