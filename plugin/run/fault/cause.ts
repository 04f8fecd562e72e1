/** Causes the planned fault: stops processes of the stack, drops connections, or runs the user's command. */
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { isStackFault } from '../../../protocol/wire/fault-kinds.ts';
import { whyFaultUnsupported } from '../../../server/stack/stack-faults.ts';
import type { FaultOptions } from '../../script/options/fault-options.ts';
import type { RunContext } from '../context.ts';
import type { RunTarget } from '../target/target.ts';

/** Maximum number of characters of a failed command's output to keep. */
const MAX_OUTPUT = 300;
/**
 * Time limit of the user's command. It is enough for a rolling restart of many workers, and ends a command that waits
 * for input.
 */
const COMMAND_TIMEOUT_MS = 300_000;
/** Time between SIGTERM and SIGKILL to the user's command. */
const GRACE_MS = 5000;

/**
 * Checks before the load whether the run can cause the fault.
 * @throws CapacityError FAULT_IMPOSSIBLE
 */
export function requireFaultPossible(
  fault: FaultOptions | undefined,
  { stack, url }: Pick<RunTarget, 'stack' | 'url'>,
): void {
  if (!fault || !isStackFault(fault.kind)) return;
  if (!stack) {
    throw new CapacityError(
      'FAULT_IMPOSSIBLE',
      `the run cannot cause ${fault.kind} at ${url}, because that is not a stack of its own`,
      'write the command that does it to your server: fault: {command: [systemctl, restart, chat]}; or drop the connections: fault: {kind: drop-connections}',
    );
  }
  const why = whyFaultUnsupported(fault.kind, stack.state);
  if (why === undefined) return;
  throw new CapacityError(
    'FAULT_IMPOSSIBLE',
    `${fault.kind} is not possible with this stack: ${why}`,
    'choose another fault',
  );
}

/**
 * Causes the fault.
 * @throws Error or CapacityError if that failed
 */
export async function causePlannedFault(
  { kind, command }: FaultOptions,
  { stack, signal }: Pick<RunTarget, 'stack'> & Pick<RunContext, 'signal'>,
  timeoutMs = COMMAND_TIMEOUT_MS,
): Promise<void> {
  // The fleet drops the connections as soon as it is notified of the fault, so nothing is left to do here.
  if (kind === 'drop-connections') return;
  if (isStackFault(kind)) return stack?.fault(kind);
  await run(command ?? [], signal, timeoutMs);
}

/**
 * Runs the user's command and waits for its exit. A server that the command starts inherits the command's output and
 * keeps it open, so this function does not wait for the output to close. The output is a file, because writes to a
 * closed pipe would fail.
 */
async function run([program = '', ...args]: string[], signal: AbortSignal, timeoutMs: number): Promise<void> {
  const output = await openUnnamed();
  try {
    const file = output.createWriteStream({ autoClose: false });
    const limits = { timeout: timeoutMs, cancelSignal: signal, forceKillAfterDelay: GRACE_MS };
    const options = { stdin: 'ignore', stdout: file, stderr: file, reject: false, ...limits } as const;
    const { failed, timedOut, shortMessage, escapedCommand } = await execa(program, args, options);
    if (!failed) return;
    const { buffer, bytesRead } = await output.read({ buffer: Buffer.alloc(MAX_OUTPUT), position: 0 });
    const text = buffer.toString('utf8', 0, bytesRead).trim();
    const why = timedOut
      ? `the command did not end within ${timeoutMs / 1000} s, and was stopped: ${escapedCommand}`
      : shortMessage;
    throw new Error([why, text].filter(Boolean).join(': ').slice(0, MAX_OUTPUT));
  } finally {
    await output.close();
  }
}

/** Opens a file without a name. The kernel removes it when the last process closes it. */
async function openUnnamed(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'capacity-'));
  try {
    return await open(join(folder, 'output'), 'w+');
  } finally {
    await rm(folder, { recursive: true });
  }
}
