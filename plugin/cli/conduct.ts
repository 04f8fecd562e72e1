/** `conduct --hosts <n> <scenario> [-- command]`: one measured run whose load comes from several hosts. */
import { createRequire } from 'node:module';
import { networkInterfaces } from 'node:os';
import { type Command, InvalidArgumentError } from 'commander';
import { conductHosts } from '../conduct/hosts/conduct-hosts.ts';
import { requireOpenFiles } from '../doctor/preflight.ts';
import { readSettings } from '../script/settings.ts';
import { STEPS } from '../virtual-user/steps/index.ts';
import { addHelp } from './command.ts';
import { resolveArtillery } from './runs/artillery.ts';
import { readScenario } from './runs/scenario.ts';
import { STOPPED, untilStopped } from './runs/until-stopped.ts';

interface Options {
  hosts: number;
  environment?: string;
  listen: { host: string; port: number };
  secret?: string;
}

const LISTEN = '0.0.0.0:3401';

export function addConduct(program: Command): void {
  const command = program
    .command('conduct')
    .description('Conducts one run whose load several hosts bring together, and measures it as a whole.')
    .argument('<scenario>', 'an Artillery scenario, as YAML: the same on all hosts')
    .argument('[command...]', 'after `--`: a command that starts Artillery on the hosts')
    .requiredOption('-n, --hosts <n>', 'how many hosts bring the load', parseHosts)
    .option('-e, --environment <name>', 'one of the scenario’s config.environments')
    .option(
      '--listen <host:port>',
      'where the hosts reach this one; port 0 takes a free one',
      parseListen,
      parseListen(LISTEN),
    )
    .option('--secret <folder>', 'files token, tls.crt and tls.key, in place of new ones for each run')
    .action(conduct);
  addHelp(command, {
    examples: {
      'conduct --hosts 4 scenarios/32k.yml': 'prints the line with which four hosts join, and waits for them',
      'conduct --hosts 2 scenarios/10k.yml -- ./start-hosts.sh': 'the command gets the line as CAPACITY_CONDUCTOR',
    },
    exitCodes: {
      0: 'the measurement is VALID',
      2: 'refused: nothing was measured',
      3: 'the measurement is SUSPECT',
      4: 'the measurement is INVALID',
      130: 'stopped by Ctrl-C; the result has what was measured until then',
    },
  });
}

async function conduct(path: string, launch: string[], options: Options): Promise<void> {
  requireOpenFiles();
  const script = await readScenario(path, options.environment);
  const config = readSettings(script, STEPS, process.env);
  await untilStopped(async (signal) => {
    const { hosts, listen, secret } = options;
    const address = /^(0\.0\.0\.0|::)$/.test(listen.host) ? ownAddress() : listen.host;
    const { version: artilleryVersion } = createRequire(import.meta.url)(resolveArtillery('artillery/package.json'));
    const run = { script, config, path, artilleryVersion, launch, signal };
    const exitCode = await conductHosts({ ...run, hosts, listen, address, secret });
    process.exitCode = signal.aborted ? STOPPED : exitCode;
  });
}

/** By which other hosts most likely reach this one. */
function ownAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  return addresses.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1';
}

/** @throws InvalidArgumentError for commander */
function parseHosts(text: string): number {
  const hosts = Number(text);
  if (!Number.isInteger(hosts) || hosts < 1) throw new InvalidArgumentError('Expected a whole number of at least 1.');
  return hosts;
}

/** @throws InvalidArgumentError for commander */
function parseListen(text: string): Options['listen'] {
  const [, host, port] = /^(.+):(\d+)$/.exec(text) ?? [];
  if (!host || Number(port) > 65_535) throw new InvalidArgumentError('Expected an address and a port: 10.0.0.5:3401.');
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}
