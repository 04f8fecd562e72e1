import { type FailureCode, slug } from '../../protocol/codes/failure-codes.ts';

/** Error that ends a virtual user's flow. The code becomes part of a metric's name, `errors.<code>`. */
export class FlowError extends Error {
  readonly code: FailureCode;

  constructor(code: FailureCode, message: string = code, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'FlowError';
    this.code = code;
  }
}

/** Returns the error with its own code, such as a code of the fleet, or with `internal_error`. */
export function toFlowError(error: unknown): FlowError {
  if (error instanceof FlowError) return error;
  const { code, message } = (error ?? {}) as { code?: unknown; message?: string };
  return new FlowError(typeof code === 'string' ? (code as FailureCode) : 'internal_error', message, { cause: error });
}

/** Adds a refused login to the message of a later error. The refusal itself does not end the flow, but may be the cause. */
export function afterRefusal(refusal: string, error: unknown): FlowError {
  const failure = toFlowError(error);
  const { code, message, cause } = failure;
  if (message.startsWith(refusal)) return failure;
  return new FlowError(code, `${refusal}; then ${message}`, { cause });
}

/** @param reason Socket.IO's disconnect reason @param why cause of the last failed attempt to reconnect */
export function lossOf(reason: string, why?: string): FlowError {
  const after = why === undefined ? '' : `; then the reconnect failed: ${why}`;
  return new FlowError(`disconnected_${slug(reason)}`, `the connection was lost: ${reason}${after}`);
}
