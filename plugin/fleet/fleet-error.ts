/** Why a connection's request failed; `cause` values are those of `ClientSink.onFailed`, and `ack_timeout`. */
export class FleetError extends Error {
  /** Short, stable, fit for a metric's name. */
  readonly code: string;
  /** Payload of a CONNECT_ERROR. */
  readonly data: unknown;

  constructor(code: string, message: string, data?: unknown) {
    super(message);
    this.name = 'FleetError';
    this.code = code;
    this.data = data;
  }
}
