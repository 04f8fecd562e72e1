/** Planned faults: what a run does to the deployment, or to its own connections, to see how the clients come back. */

/** What only a stack of ours can suffer, as the run knows its processes. */
const STACK_FAULTS = ['reload-workers', 'kill-worker', 'reload-nginx', 'restart-redis'] as const;
export type StackFault = (typeof STACK_FAULTS)[number];

/** `drop-connections`: the generator itself ends all its TCP connections at once. `command`: one of the user's own. */
export const FAULT_KINDS = [...STACK_FAULTS, 'drop-connections', 'command'] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export function isStackFault(kind: FaultKind): kind is StackFault {
  return (STACK_FAULTS as readonly string[]).includes(kind);
}
