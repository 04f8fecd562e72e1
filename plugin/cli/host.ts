/** `host`: generates this host's share of the load, in runs over several hosts. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import { z } from 'zod';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';
import { exitCodeOfOutcome } from '../../protocol/codes/exit-codes.ts';
import { fetchAssignment } from '../conduct/hosts/host-assignment.ts';
import { type JoinAddress, readJoinToken } from '../conduct/hosts/join-token.ts';
import { artilleryScript, startPrivately, untilStopped } from '../series/artillery-arguments.ts';
import { addHelp } from './command.ts';

const variablesSchema = z.object({
  CAPACITY_CONDUCTOR: z.string().default(''),
  CAPACITY_HOST: z.string().optional(),
});
type Variables = z.infer<typeof variablesSchema>;

export function addHost(program: Command): void {
  const command = program
    .command('host')
    .description(
      'Generates this host’s share of the load of a run over several hosts, with the scenario in this folder.',
    )
    .option('--stay', 'takes part in all runs of a series, until its conductor has been unreachable for ten minutes')
    .option('--stdin', 'reads its variables from standard input as JSON, and ends when that closes')
    .action(host);
  addHelp(command, {
    examples: { host: 'with CAPACITY_CONDUCTOR as `conduct` prints it' },
    exitCodes: {
      0: 'the share was generated',
      2: 'refused, or the conductor could not be reached',
      4: 'the conductor was lost',
      130: 'stopped by Ctrl-C, or by the conductor',
    },
  });
}

async function host({ stay = false, stdin = false }: { stay?: boolean; stdin?: boolean }): Promise<void> {
  await untilStopped(async (stopped) => {
    const closed = new AbortController();
    const signal = AbortSignal.any([stopped, closed.signal]);
    const variables = variablesSchema.parse(stdin ? await firstLine(closed) : process.env);
    const join = readJoinToken(variables.CAPACITY_CONDUCTOR);
    try {
      const instance = randomUUID();
      do process.exitCode = await play(join, instance, variables, signal);
      while (stay && !signal.aborted);
    } catch (error) {
      if (!signal.aborted) throw error;
      process.exitCode = exitCodeOfOutcome('stopped');
    } finally {
      process.stdin.destroy();
    }
  });
}

/**
 * Runs Artillery on this host for one measured run.
 * @returns Artillery's exit code
 */
async function play(join: JoinAddress, instance: string, variables: Variables, signal: AbortSignal): Promise<number> {
  const { args, env } = await fetchAssignment(join, instance, signal);
  const own = Object.fromEntries(Object.entries(variables).filter(([, value]) => value));
  console.log(`Generates the share of host ${own.CAPACITY_HOST ?? env.CAPACITY_HOST} of ${env.CAPACITY_HOSTS}.`);
  const { exitCode } = await startPrivately([artilleryScript(), 'run', ...args], {
    ...{ output: 'inherit', env: { ...env, ...own }, signal },
  });
  return exitCode ?? exitCodeOfOutcome('failed');
}

/**
 * Reads the first line of standard input as JSON.
 * @param closed aborted when standard input closes
 */
async function firstLine(closed: AbortController): Promise<unknown> {
  const lines = createInterface({ input: process.stdin });
  lines.on('close', () => closed.abort());
  const [line] = await Promise.race([once(lines, 'line'), once(lines, 'close')]);
  return tryOrUndefined(() => JSON.parse(String(line))) ?? {};
}
