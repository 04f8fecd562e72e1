import type { FailureCode } from '../../protocol/codes/failure-codes.ts';

/** Why a connection's request failed. */
export class FleetError extends Error {
  readonly code: FailureCode;
  /** Payload of a CONNECT_ERROR. */
  readonly data: unknown;

  constructor(code: FailureCode, message: string, data?: unknown) {
    super(message);
    this.name = 'FleetError';
    this.code = code;
    this.data = data;
  }
}
