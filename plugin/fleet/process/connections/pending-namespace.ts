/** A namespace that the server has not answered yet, with messages to send once it is open. */
import type { ConnectionFailure } from '../../client/failure.ts';
import type { EmitCommand, FleetAnswer } from '../../fleet-messages.ts';

export interface PendingNamespace {
  readonly namespace: string;
  /** Request id of the `open` command. */
  readonly requestId: number;
  readonly begunAtUs: number;
  /** Events to send as soon as the namespace is open. They are reported as failed if the namespace does not open. */
  emits: readonly EmitCommand[];
}

// Empty list that all connections share. Lists of pending namespaces are always replaced, because extending a list
// makes V8 allocate room for 16 elements.
export const NO_PENDING_NAMESPACES: readonly PendingNamespace[] = [];

/** Failure that is reported for an event on a connection that is not open. */
export const NOT_CONNECTED_FAILURE: ConnectionFailure = { cause: 'closed', message: 'the connection has ended' };

type Answer = (answer: FleetAnswer) => void;

/** Reports that the `open` command and its waiting messages have failed. */
export function failPendingNamespace(
  { requestId, emits }: PendingNamespace,
  failure: ConnectionFailure,
  answer: Answer,
): void {
  answer({ op: 'failed', requestId, ...failure });
  for (const emit of emits) failEmit(emit, failure, answer);
}

/** Reports that an event has failed, if the engine waits for its acknowledgement. */
export function failEmit({ requestId }: EmitCommand, { cause, message }: ConnectionFailure, answer: Answer): void {
  if (requestId !== undefined) answer({ op: 'failed', requestId, cause, message });
}
