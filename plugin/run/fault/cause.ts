/** Does what the scenario plans: to the stack, to the connections, or by a command of the user's. */
import { execa } from 'execa';
import { isStackFault } from '../../../protocol/fault.ts';
import type { FaultOptions } from '../../script/options/fault-options.ts';
import type { RunContext } from '../context.ts';

/** Of what a command says when it fails. */
const MAX_OUTPUT = 300;

/** @returns when it is done @throws Error or CapacityError with the reason if it did not happen */
export async function cause(
  { kind, command }: FaultOptions,
  { stack, signal }: Pick<RunContext, 'stack' | 'signal'>,
): Promise<void> {
  // The fleet has dropped them when it began to count.
  if (kind === 'drop-connections') return;
  if (isStackFault(kind)) return stack?.fault(kind);
  const [program = '', ...args] = command ?? [];
  const { failed, shortMessage, all } = await execa(program, args, { all: true, reject: false, cancelSignal: signal });
  if (failed) throw new Error([shortMessage, all].filter(Boolean).join(': ').slice(0, MAX_OUTPUT));
}
