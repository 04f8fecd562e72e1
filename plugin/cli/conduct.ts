/** `conduct --hosts <n> <scenario> [-- command]`: one measured run whose load comes from several hosts. */
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { STOPPED } from '../../protocol/codes/exit-codes.ts';
import { conductHosts } from '../conduct/hosts/conduct-hosts.ts';
import { ownAddress } from '../conduct/hosts/join-line.ts';
import { requireOpenFiles } from '../doctor/diagnosis.ts';
import { resolveArtillery, untilStopped } from '../series/artillery-arguments.ts';
import { addHelp, parseOptions } from './command.ts';
import { readScenario, settingsOf } from './scenario-argument.ts';

const optionsSchema = z.object({
  hosts: z.coerce.number('expected a number').int().min(1),
  environment: z.string().optional(),
  listen: z.string().transform((text, context) => {
    const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(text) ?? [];
    if (host !== undefined && Number(port) <= 65_535) return { host, port: Number(port) };
    context.addIssue('expected an address and a port: 10.0.0.5:3401');
    return z.NEVER;
  }),
  secret: z.string().optional(),
});

export function addConduct(program: Command): void {
  const command = program
    .command('conduct')
    .description('Measures one run whose load comes from several hosts.')
    .argument('<scenario>', 'an Artillery scenario, as YAML: the same on all hosts')
    .argument('[command...]', 'after `--`: a command that starts Artillery on the hosts')
    .requiredOption('-n, --hosts <n>', 'how many hosts generate the load')
    .option('-e, --environment <name>', 'one of the scenario’s config.environments')
    .option('--listen <host:port>', 'where the hosts reach this one; port 0 takes a free one', ':3401')
    .option('--secret <folder>', 'files token, tls.crt and tls.key, in place of new ones for each run')
    .action(conduct);
  addHelp(command, {
    examples: {
      'conduct --hosts 4 scenarios/32k.yml': 'prints the line that four hosts join with, and waits for them',
      'conduct --hosts 2 scenarios/10k.yml -- ./start-hosts.sh': 'the command gets the line as CAPACITY_CONDUCTOR',
    },
    exitCodes: {
      0: 'every threshold is met, and the measurement is VALID',
      1: 'a threshold is missed',
      2: 'refused: nothing was measured',
      3: 'the measurement is SUSPECT',
      4: 'the measurement is INVALID',
      130: 'stopped by Ctrl-C; the result has what was measured until then',
    },
  });
}

async function conduct(path: string, launch: string[], given: object): Promise<void> {
  const { hosts, environment, listen, secret } = parseOptions(optionsSchema, given, 'conduct');
  requireOpenFiles();
  const script = await readScenario(path, environment);
  const config = settingsOf(script);
  await untilStopped(async (signal) => {
    signal.addEventListener('abort', () => {
      // A second Ctrl-C does not wait for hosts that do not answer; they end by themselves.
      for (const stop of ['SIGINT', 'SIGTERM']) process.once(stop, () => process.exit(STOPPED));
    });
    const address = /^(0\.0\.0\.0|::)?$/.test(listen.host) ? ownAddress() : listen.host;
    const manifest = resolveArtillery('artillery/package.json');
    const { version: artilleryVersion } = createRequire(import.meta.url)(manifest);
    const run = { script, config, path, artilleryVersion, artillery: dirname(manifest), launch, signal };
    const exitCode = await conductHosts({ ...run, hosts, listen, address, secret });
    process.exitCode = exitCode;
  });
}
