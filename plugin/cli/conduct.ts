/** `conduct --hosts <n> <scenario>`: one measured run whose load comes from several hosts. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';
import { STOPPED_EXIT_CODE } from '../../protocol/codes/exit-codes.ts';
import { conductHosts } from '../conduct/hosts/conduct-hosts.ts';
import { ownAddress } from '../conduct/hosts/join-token.ts';
import { parseLauncher } from '../conduct/hosts/launch/launchers.ts';
import { requireOpenFileLimit } from '../doctor/diagnosis.ts';
import { loadVariablesIn } from '../script/run-inputs.ts';
import { resolveArtillery, untilStopped } from '../series/artillery-arguments.ts';
import { addHelp, parseOptions } from './command.ts';
import { addHostsOptions, hostsShape } from './hosts-options.ts';
import { isObject, readScenario, settingsOfScript } from './scenario-argument.ts';

const optionsSchema = z.object({
  ...hostsShape,
  hosts: hostsShape.hosts.nonoptional('how many hosts?'),
  environment: z.string().optional(),
  overrides: z
    .string()
    .refine((text) => isObject(tryOrUndefined(() => JSON.parse(text))), 'expected a JSON object')
    .optional(),
  env: z
    .string()
    .default('')
    .transform((names) => names.split(',')),
});

export function addConduct(program: Command): void {
  const command = program
    .command('conduct')
    .description('Measures one run whose load comes from several hosts.')
    .argument('<scenario>', 'an Artillery scenario, as YAML: the same on all hosts')
    .option('-e, --environment <name>', 'one of the scenario’s config.environments')
    .option('--overrides <json>', 'merged into the scenario, on the hosts, too')
    .option('--env <names>', 'further variables for the hosts, as NAME,NAME: those that a processor reads')
    .action(conduct);
  addHelp(addHostsOptions(command), {
    examples: {
      'conduct --hosts 4 scenarios/32k.yml': 'prints the command that four hosts join with, and waits for them',
      'conduct --hosts 3 --on ssh:hosts.txt scenarios/10k.yml': 'starts three hosts, and ends them with the run',
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

async function conduct(path: string, given: object): Promise<void> {
  const { hosts, on, listen, secret, env, ...level } = parseOptions(optionsSchema, given, 'conduct');
  const launcher = on === undefined ? undefined : parseLauncher(on, hosts);
  requireOpenFileLimit();
  const script = await readScenario(path, level.environment, level.overrides);
  const config = settingsOfScript(script);
  const variables = [...loadVariablesIn([readFileSync(path, 'utf8')]), ...env];
  await untilStopped(async (signal) => {
    // A second Ctrl-C exits at once. Generator hosts that have not answered yet end by themselves when the conductor is
    // gone.
    for (const name of ['SIGINT', 'SIGTERM']) {
      process.once(name, () => process.once(name, () => process.exit(STOPPED_EXIT_CODE)));
    }
    const [, host = '', port] = /^\[?(.*?)\]?:(\d+)$/.exec(listen) ?? [];
    const address = /^(0\.0\.0\.0|::)?$/.test(host) ? ownAddress() : host;
    const manifest = resolveArtillery('artillery/package.json');
    const { version: artilleryVersion } = createRequire(import.meta.url)(manifest);
    const run = { script, config, path, artilleryVersion, artillery: dirname(manifest), signal };
    process.exitCode = await conductHosts({
      ...{ ...run, hosts, launcher, inputs: { ...level, variables }, address, secret },
      listen: { host, port: Number(port) },
    });
  });
}
