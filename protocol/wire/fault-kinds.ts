/** Planned faults. A run causes them in the deployment or in its own connections, to measure how clients reconnect. */

/** Faults that require the included stack, because the run must know the processes of the deployment. */
const STACK_FAULTS = ['reload-workers', 'kill-worker', 'reload-nginx', 'restart-redis'] as const;
export type StackFault = (typeof STACK_FAULTS)[number];

/**
 * Kinds of planned faults. `drop-connections`: the generator closes all its TCP connections at once. `command`: the run
 * starts a command of the user.
 */
export const FAULT_KINDS = [...STACK_FAULTS, 'drop-connections', 'command'] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export function isStackFault(kind: FaultKind): kind is StackFault {
  return (STACK_FAULTS as readonly string[]).includes(kind);
}
