/** `observe`: reports to runs on other machines what nginx, HAProxy or Redis on this host uses. */
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { z } from 'zod';
import { OBSERVED_LAYERS } from '../../protocol/observation.ts';
import { ObservedProcesses } from '../observer/observed-processes.ts';
import { openObserver } from '../observer/observer.ts';
import { environmentSchema } from '../script/options/plugin-options.ts';
import { untilStopped } from '../series/until-stopped.ts';
import { addHelp, badOption, parseOptions } from './command.ts';

const optionsSchema = z
  .object({
    layer: z.enum(OBSERVED_LAYERS, { error: `must be ${OBSERVED_LAYERS.join(', ')}` }),
    pid: z.coerce.number().int().positive().optional(),
    port: z.coerce.number().int().min(0).max(65_535),
    host: z.string().min(1),
    tlsKey: z.string().optional(),
    tlsCert: z.string().optional(),
  })
  .refine(({ tlsKey, tlsCert }) => (tlsKey === undefined) === (tlsCert === undefined), {
    path: ['tlsKey'],
    error: 'needs --tls-cert, and the other way round',
  });

export function addObserve(program: Command): void {
  const command = program
    .command('observe')
    .description('Reports this host’s nginx, HAProxy or Redis usage to runs elsewhere: memory, CPU, sockets.')
    .option('--layer <name>', OBSERVED_LAYERS.join(', '))
    .option('--pid <id>', 'one process of it, with those that it has started (default: all of that name)')
    .option('--port <n>', 'where to listen; 0 for a free one', '3300')
    .option('--host <address>', 'on which address; the runs have to reach it', '127.0.0.1')
    .option('--tls-key <file>', 'private key, PEM: it then speaks HTTPS')
    .option('--tls-cert <file>', 'certificate chain, PEM')
    .action(observe);
  addHelp(command, {
    examples: { 'observe --layer nginx --host 10.0.0.5': 'with CAPACITY_TOKEN as in the run; until Ctrl-C' },
    exitCodes: { 0: 'stopped by Ctrl-C or SIGTERM', 2: 'it could not be started; the message gives the reason' },
  });
}

async function observe(given: Record<string, unknown>): Promise<void> {
  const { layer, pid, port, host, tlsKey, tlsCert } = parseOptions(optionsSchema, given, 'observe');
  const { data: token } = environmentSchema.shape.CAPACITY_TOKEN.safeParse(process.env.CAPACITY_TOKEN);
  if (token === undefined) {
    throw badOption('the environment variable CAPACITY_TOKEN must have at least 16 characters', 'observe');
  }
  const processes = new ObservedProcesses(layer, pid);
  const tls = tlsKey && tlsCert ? { key: read(tlsKey), cert: read(tlsCert) } : undefined;
  await untilStopped(async (signal) => {
    const observer = await openObserver(processes, { token, port, host, tls });
    const url = `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${observer.port}`;
    console.log(`Observing ${layer} (processes ${processes.pids.join(', ')}) at ${url}; Ctrl-C ends it.`);
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    await observer.close();
  });
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw badOption((error as Error).message, 'observe');
  }
}
