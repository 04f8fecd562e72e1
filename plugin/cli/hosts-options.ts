/** Options of commands that can generate the load from several hosts. */
import { extname, join } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { parseLauncher } from '../conduct/hosts/launch/launchers.ts';
import { invalidOptionError } from './command.ts';

export const hostsShape = {
  hosts: z.coerce.number('expected a number').int().min(1, 'expected 1 or more').optional(),
  on: z.string().optional(),
  listen: z.string().regex(/^\[?.*?\]?:\d{1,5}$/, 'expected an address and a port: 10.0.0.5:3401'),
  secret: z.string().optional(),
};

interface HostsOptions {
  hosts?: number | undefined;
  on?: string | undefined;
  listen: string;
  secret?: string | undefined;
}

export function addHostsOptions(command: Command): Command {
  return command
    .option('--hosts <n>', 'how many hosts generate the load')
    .option('--on <where>', 'starts the hosts: ssh:<file> with a line for each, or command:<line>')
    .option('--listen <host:port>', 'where the hosts reach this one; port 0 takes a free one', ':3401')
    .option('--secret <folder>', 'files token, tls.crt and tls.key, in place of new ones for each run');
}

/**
 * Returns the command line for each run of a series over several hosts; the scenario must be appended. Undefined if
 * this host generates the load alone.
 * @throws CapacityError CONFIG_INVALID, FILE_UNREADABLE
 */
export function conductCommandLine({ hosts, on, listen, secret }: HostsOptions, command: string): string[] | undefined {
  if (hosts === undefined) {
    if (on !== undefined) throw invalidOptionError('--on: how many hosts? Give --hosts, too', command);
    return undefined;
  }
  if (on !== undefined) parseLauncher(on, hosts);
  else if (secret === undefined) {
    throw invalidOptionError('--hosts: each run would have another join token; give --on, or --secret', command);
  }
  const given = Object.entries({ hosts, on, listen, secret }).filter(([, value]) => value !== undefined);
  const main = join(import.meta.dirname, `main${extname(import.meta.filename)}`);
  return [main, 'conduct', ...given.map(([name, value]) => `--${name}=${value}`)];
}
