/** A namespace that the server has neither accepted nor refused yet, with messages to send once it is open. */
import type { Failure } from '../../client/failure.ts';
import type { EmitCommand, FleetAnswer } from '../../fleet-messages.ts';

export interface PendingNamespace {
  readonly namespace: string;
  /** Request id of the `open` command that waits for it. */
  readonly requestId: number;
  readonly begunAtUs: number;
  /** Messages sent as soon as the namespace is open; they fail if it fails. */
  emits: readonly EmitCommand[];
}

// Shared by nearly all connections, because each has a list. The list is replaced, never pushed to, because V8 allocates
// room for 16 when an array grows.
export const NONE_PENDING: readonly PendingNamespace[] = [];

/** Failure of an event that cannot be sent. */
export const NOT_CONNECTED: Failure = { cause: 'closed', message: 'the connection has ended' };

type Answer = (answer: FleetAnswer) => void;

/** Fails the `open` command and its waiting messages. */
export function failPending({ requestId, emits }: PendingNamespace, failure: Failure, answer: Answer): void {
  answer({ op: 'failed', requestId, ...failure });
  for (const emit of emits) failEmit(emit, failure, answer);
}

/** Answers the engine, if it waits for an acknowledgement. */
export function failEmit({ requestId }: EmitCommand, { cause, message }: Failure, answer: Answer): void {
  if (requestId !== undefined) answer({ op: 'failed', requestId, cause, message });
}
