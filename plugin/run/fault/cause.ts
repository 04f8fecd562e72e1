/** Causes the planned fault: in the stack, by dropping connections, or with the user's command. */
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { isStackFault } from '../../../protocol/wire/fault-kinds.ts';
import { whyUnsupported } from '../../../server/stack/stack-faults.ts';
import type { FaultOptions } from '../../script/options/fault-options.ts';
import type { RunContext } from '../context.ts';
import type { Target } from '../target/target.ts';

/** Characters kept of a failed command's output. */
const MAX_OUTPUT = 300;
/** Time limit of the user's command, enough for a rolling restart of many workers. A command that waits for input would never exit. */
const COMMAND_TIMEOUT_MS = 300_000;
/** Time from SIGTERM to SIGKILL. */
const GRACE_MS = 5000;

/** Checks before the load that the run can cause the fault. @throws CapacityError FAULT_IMPOSSIBLE */
export function requireFault(fault: FaultOptions | undefined, { stack, url }: Pick<Target, 'stack' | 'url'>): void {
  if (!fault || !isStackFault(fault.kind)) return;
  if (!stack) {
    throw new CapacityError(
      'FAULT_IMPOSSIBLE',
      `the run cannot cause ${fault.kind} at ${url}, because that is not a stack of its own`,
      'write the command that does it to your server: fault: {command: [systemctl, restart, chat]}; or drop the connections: fault: {kind: drop-connections}',
    );
  }
  const why = whyUnsupported(fault.kind, stack.state);
  if (why === undefined) return;
  throw new CapacityError(
    'FAULT_IMPOSSIBLE',
    `${fault.kind} is not possible with this stack: ${why}`,
    'choose another fault',
  );
}

/** Resolves when the fault has been caused. @throws Error or CapacityError with the reason if that failed */
export async function causeFault(
  { kind, command }: FaultOptions,
  { stack, signal }: Pick<Target, 'stack'> & Pick<RunContext, 'signal'>,
  timeoutMs = COMMAND_TIMEOUT_MS,
): Promise<void> {
  // The fleet dropped the connections when it began to count the fault.
  if (kind === 'drop-connections') return;
  if (isStackFault(kind)) return stack?.fault(kind);
  await run(command ?? [], signal, timeoutMs);
}

/**
 * Runs the user's command. A server that it starts inherits the output and keeps running, so this waits for the command's exit
 * and not for the output to close. The output is a file, since writes to a closed pipe would fail.
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

/** Returns an unlinked file, which disappears when the last process closes it. */
async function openUnnamed(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'capacity-'));
  try {
    return await open(join(folder, 'output'), 'w+');
  } finally {
    await rm(folder, { recursive: true });
  }
}
