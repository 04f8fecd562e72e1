/** Runs the commands that start the hosts of a run, watches them, and ends them with the run. */
import { createInterface } from 'node:readline';
import { execa, type ResultPromise } from 'execa';
import { printableLine } from '../../../../protocol/base/printable.ts';
import { tryOrUndefined } from '../../../../protocol/base/try-or-undefined.ts';
import { CapacityError } from '../../../../protocol/codes/errors.ts';
import { resultWithin } from '../../../run/wait.ts';

/** A command that starts hosts. If the command ends with an error, the hosts that it started count as ended. */
interface LaunchCommand {
  /** Prefix of the command's output, and name of the command in errors. */
  name: string;
  program: string;
  args: string[];
  env?: Record<string, string>;
  /** First line of the command's standard input, which stays open until the run ends. */
  input?: string;
}

/**
 * Returns the commands that start the hosts.
 * @param joinToken value of `CAPACITY_CONDUCTOR`
 */
export type HostLauncher = (joinToken: string, hosts: number) => LaunchCommand[];

export interface LaunchedHosts {
  /** Signal that aborts with START_FAILED if a command fails. */
  failed: AbortSignal;
  /** Waits for the commands to end. If they do not, interrupts them, then kills them. */
  end(graceMs: number): Promise<void>;
}

const INTERRUPT_GRACE_MS = 10_000;
const MAX_LINE_LENGTH = 500;

export function launchHosts(commands: LaunchCommand[], print: (line: string) => void): LaunchedHosts {
  const failed = new AbortController();
  const children = commands.map((command) => start(command, failed, print));
  const kill = () => {
    for (const { pid } of children) signalGroup(pid, 'SIGKILL');
  };
  process.once('exit', kill);
  const all = Promise.all(children);
  return {
    failed: failed.signal,
    end: async (graceMs) => {
      await resultWithin(all, graceMs);
      for (const child of children) {
        child.stdin?.end();
        // A command that reads its standard input ends when the input is closed. A command without such an input is
        // interrupted.
        if (!child.stdin) signalGroup(child.pid, 'SIGINT');
      }
      await resultWithin(all, INTERRUPT_GRACE_MS);
      kill();
      await all;
      process.off('exit', kill);
    },
  };
}

function start(
  { name, program, args, env = {}, input }: LaunchCommand,
  failed: AbortController,
  print: (line: string) => void,
): ResultPromise {
  let latest = '';
  const stdin = input === undefined ? 'ignore' : 'pipe';
  // The command has its own process group, so that Ctrl-C does not end it before the run.
  const child = execa(program, args, { stdin, env, all: true, buffer: false, detached: true, reject: false });
  createInterface({ input: child.all }).on('line', (line) => {
    latest = printableLine(line, MAX_LINE_LENGTH) || latest;
    print(`${name}: ${printableLine(line, MAX_LINE_LENGTH)}`);
  });
  child.stdin?.on('error', () => {});
  child.stdin?.write(`${input}\n`);
  child.then(({ exitCode, signal, originalMessage }) => {
    // Exit code 0 is not an error: the hosts may continue without the command.
    if (exitCode === 0) return;
    const how =
      child.pid === undefined
        ? `could not be started: ${originalMessage}`
        : `ended with ${signal ?? `exit code ${exitCode}`}${latest && `: ${latest}`}`;
    failed.abort(new CapacityError('START_FAILED', `the start of hosts by ${name} ${how}`, 'see its output above'));
  });
  return child;
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  // The call throws if no process of the group is left.
  if (pid !== undefined) tryOrUndefined(() => process.kill(-pid, signal));
}
