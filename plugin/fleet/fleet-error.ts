import type { FailureCode } from '../../protocol/codes/failure-codes.ts';
import type { Failure } from './client/failure.ts';

/** Why a connection's request failed. */
export class FleetError extends Error {
  readonly code: FailureCode;
  /** Payload of a CONNECT_ERROR. */
  readonly data: unknown;
  /** See `Failure`. */
  readonly after: Failure['after'];

  constructor(code: FailureCode, message: string, data?: unknown, after?: Failure['after']) {
    super(message);
    this.name = 'FleetError';
    this.code = code;
    this.data = data;
    this.after = after;
  }
}
