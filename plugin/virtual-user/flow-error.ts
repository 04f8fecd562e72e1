import { type FailureCode, slug } from '../../protocol/codes/failure-codes.ts';

/** Ends one virtual user's flow. The code becomes a metric's name, `errors.<code>`. */
export class FlowError extends Error {
  readonly code: FailureCode;

  constructor(code: FailureCode, message: string = code, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'FlowError';
    this.code = code;
  }
}

/** @returns the error with its own code, such as those of the fleet, or with `internal_error` */
export function toFlowError(error: unknown): FlowError {
  if (error instanceof FlowError) return error;
  const { code, message } = (error ?? {}) as { code?: unknown; message?: string };
  return new FlowError(typeof code === 'string' ? (code as FailureCode) : 'internal_error', message, { cause: error });
}

/** A login that is refused ends no flow by itself, but may be why a later step fails. */
export function afterRefusal(refusal: string, error: unknown): FlowError {
  const failure = toFlowError(error);
  const { code, message, cause } = failure;
  if (message.startsWith(refusal)) return failure;
  return new FlowError(code, `${refusal}; then ${message}`, { cause });
}

/** @param reason of Socket.IO's @param why the last attempt to reconnect failed */
export function lossOf(reason: string, why?: string): FlowError {
  const after = why === undefined ? '' : `; then the reconnect failed: ${why}`;
  return new FlowError(`disconnected_${slug(reason)}`, `the connection was lost: ${reason}${after}`);
}
