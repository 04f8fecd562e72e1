/** Does what the scenario plans: to the stack, to the connections, or by a command of the user's. */
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

/** Characters of what a failing command says. */
const MAX_OUTPUT = 300;
/** Enough for a rolling restart of many workers; a command that waits for somebody at a keyboard never ends. */
const COMMAND_TIMEOUT_MS = 300_000;
/** From the request to end to SIGKILL. */
const GRACE_MS = 5000;

/** Before the load: can this deployment suffer it? @throws CapacityError FAULT_IMPOSSIBLE */
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

/** @returns when it is done @throws Error or CapacityError with the reason if it did not happen */
export async function cause(
  { kind, command }: FaultOptions,
  { stack, signal }: Pick<Target, 'stack'> & Pick<RunContext, 'signal'>,
  timeoutMs = COMMAND_TIMEOUT_MS,
): Promise<void> {
  // The fleet has dropped them when it began to count.
  if (kind === 'drop-connections') return;
  if (isStackFault(kind)) return stack?.fault(kind);
  await run(command ?? [], signal, timeoutMs);
}

/**
 * A command that restarts a server leaves it running. The server has the command's output, too, so this waits for the command's
 * end and not for that of its output; and the output is a file, which stays writable when nobody reads it any more.
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
    const said = buffer.toString('utf8', 0, bytesRead).trim();
    const why = timedOut
      ? `the command did not end within ${timeoutMs / 1000} s, and was stopped: ${escapedCommand}`
      : shortMessage;
    throw new Error([why, said].filter(Boolean).join(': ').slice(0, MAX_OUTPUT));
  } finally {
    await output.close();
  }
}

/** @returns a file without a name, which is gone when nobody has it open any more */
async function openUnnamed(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'capacity-'));
  try {
    return await open(join(folder, 'output'), 'w+');
  } finally {
    await rm(folder, { recursive: true });
  }
}
