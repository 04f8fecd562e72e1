/** Planned faults. A run causes them in the deployment or in its own connections, to measure how clients reconnect. */

/** Faults that require a bundled stack, because the run must know its processes. */
const STACK_FAULTS = ['reload-workers', 'kill-worker', 'reload-nginx', 'restart-redis'] as const;
export type StackFault = (typeof STACK_FAULTS)[number];

/**
 * Kinds of planned faults. `drop-connections`: the generator closes all its TCP connections at once. `command`: the run
 * starts the user's command.
 */
export const FAULT_KINDS = [...STACK_FAULTS, 'drop-connections', 'command'] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export function isStackFault(kind: FaultKind): kind is StackFault {
  return (STACK_FAULTS as readonly string[]).includes(kind);
}
