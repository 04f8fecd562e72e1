import { type FailureCode, reasonToCode } from '../../protocol/codes/failure-codes.ts';

/** Error that ends the flow of a virtual user. Its code is part of a metric's name, `errors.<code>`. */
export class FlowError extends Error {
  readonly code: FailureCode;

  constructor(code: FailureCode, message: string = code, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'FlowError';
    this.code = code;
  }
}

/** Converts an error to a FlowError. Keeps the error's code if it has one; otherwise the code is `internal_error`. */
export function toFlowError(error: unknown): FlowError {
  if (error instanceof FlowError) return error;
  const { code, message } = (error ?? {}) as { code?: unknown; message?: string };
  return new FlowError(typeof code === 'string' ? (code as FailureCode) : 'internal_error', message, { cause: error });
}

/** Adds a refused HTTP request, such as a login, to the message of a later error, because it may be the cause. */
export function withRefusedRequest(refusal: string, error: unknown): FlowError {
  const failure = toFlowError(error);
  const { code, message, cause } = failure;
  if (message.startsWith(refusal)) return failure;
  return new FlowError(code, `${refusal}; then ${message}`, { cause });
}

/**
 * Returns the error for a lost connection.
 * @param reason Socket.IO's disconnect reason
 * @param why cause of the last failed attempt to reconnect
 */
export function connectionLostError(reason: string, why?: string): FlowError {
  const after = why === undefined ? '' : `; then the reconnect failed: ${why}`;
  return new FlowError(`disconnected_${reasonToCode(reason)}`, `the connection was lost: ${reason}${after}`);
}
