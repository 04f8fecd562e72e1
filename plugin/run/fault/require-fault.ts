/** Before the load: can this deployment suffer the planned fault? */
import { CapacityError } from '../../../protocol/errors.ts';
import { isStackFault } from '../../../protocol/fault.ts';
import type { FaultOptions } from '../../script/options/fault-options.ts';
import type { Target } from '../target/target.ts';

/** @throws CapacityError FAULT_IMPOSSIBLE */
export function requireFault(fault: FaultOptions | undefined, { stack, url }: Pick<Target, 'stack' | 'url'>): void {
  if (!fault || !isStackFault(fault.kind)) return;
  if (!stack) {
    throw new CapacityError(
      'FAULT_IMPOSSIBLE',
      `the run cannot cause ${fault.kind} at ${url}, because that is not a stack of its own`,
      'write the command that does it to your server: fault: {command: [systemctl, restart, chat]}; or drop the connections: fault: {kind: drop-connections}',
    );
  }
  const why = stack.whyNot(fault.kind);
  if (why === undefined) return;
  throw new CapacityError(
    'FAULT_IMPOSSIBLE',
    `${fault.kind} is not possible with this stack: ${why}`,
    'choose another fault',
  );
}
