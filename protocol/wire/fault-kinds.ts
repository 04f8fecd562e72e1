/** Planned faults, which a run causes in the deployment or in its own connections to measure how clients reconnect. */

/** Faults that require a bundled stack, whose processes the run knows. */
const STACK_FAULTS = ['reload-workers', 'kill-worker', 'reload-nginx', 'restart-redis'] as const;
export type StackFault = (typeof STACK_FAULTS)[number];

/** `drop-connections`: the generator closes all its TCP connections at once. `command`: runs the user's own command. */
export const FAULT_KINDS = [...STACK_FAULTS, 'drop-connections', 'command'] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export function isStackFault(kind: FaultKind): kind is StackFault {
  return (STACK_FAULTS as readonly string[]).includes(kind);
}
