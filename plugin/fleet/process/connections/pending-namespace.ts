/** A namespace that the server has not accepted or refused yet, with messages to send once it is open. */
import type { Failure } from '../../client/failure.ts';
import type { EmitCommand, FleetAnswer } from '../../fleet-messages.ts';

export interface PendingNamespace {
  readonly namespace: string;
  /** The `open` command that waits for it. */
  readonly requestId: number;
  readonly begunAtUs: number;
  /** Sent as soon as the namespace is open; fail with it. */
  emits: readonly EmitCommand[];
}

// Every connection has such a list, nearly always the same. It is replaced, never pushed to: V8 allocates room for 16 when an
// array grows.
export const NONE_PENDING: readonly PendingNamespace[] = [];

/** Why an event is not sent. */
export const NOT_CONNECTED: Failure = { cause: 'closed', message: 'the connection has ended' };

type Answer = (answer: FleetAnswer) => void;

/** Fails the `open` command, and the messages that wait for it. */
export function failPending({ requestId, emits }: PendingNamespace, failure: Failure, answer: Answer): void {
  answer({ op: 'failed', requestId, ...failure });
  for (const emit of emits) failEmit(emit, failure, answer);
}

/** Answers the engine, if it waits for an acknowledgement. */
export function failEmit({ requestId }: EmitCommand, { cause, message }: Failure, answer: Answer): void {
  if (requestId !== undefined) answer({ op: 'failed', requestId, cause, message });
}
