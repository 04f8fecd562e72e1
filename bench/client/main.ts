/**
 * The command `npm run bench:client`: compares load generators by their cost per connection and per message with the
 * minimal client.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { integerText } from '../../report/text/format.ts';
import { type BenchCommand, roundsOptions, runCommand } from '../bench-command.ts';
import { runRounds } from '../rounds.ts';
import { startWorker } from '../worker.ts';
import {
  FLOOR_LABEL,
  type GeneratorAndFloor,
  generatorColumns,
  measuringColumns,
  WITHOUT_PLUGIN_LABEL,
} from './columns.ts';
import { EVENT_GENERATORS, GENERATORS, MEASURING_GENERATORS } from './generators.ts';
import { type MeasuredClients, measureClients } from './measure-clients.ts';
import { type MeasuredGenerator, toolVersion } from './measured-generator.ts';
import { startTlsProxy } from './proxy.ts';

const PLAN = { count: 20, bytes: 1000 };

const names = GENERATORS.map(({ name }) => name);
const optionsSchema = z
  .object({
    connections: z.coerce.number().int().min(1000).default(5000),
    rate: z.coerce.number().int().min(100).default(1000),
    tls: z.boolean().default(false),
    events: z.boolean().default(false),
    measuring: z.boolean().default(false),
    check: z.boolean().default(false),
    ...roundsOptions(names),
  })
  .refine(({ connections, rate }) => connections % rate === 0, {
    path: ['connections'],
    error: 'expected a multiple of the rate: Artillery counts ramps in whole seconds',
  });

await runCommand({
  usage: `usage: npm run bench:client -- [options]
  --connections <n>  multiple of the rate, at least 1,000 (default 5,000)
  --rate <n>         connections per second, at least 100 (default 1,000)
  --repeat <n>       rounds; the table has medians (default 1)
  --only <names>     besides the floor, of ${names.join(', ')}
  --tls              use TLS, terminated by the stack's nginx in front of the worker
  --events           own events instead of other generators: ${EVENT_GENERATORS.join(', ')}
  --measuring        the cost of the plugin: the same virtual users with and without it
  --check            fail if a multiple per message is more than 10 % above the published one
  --publish          also write the section of docs/benchmarks.md`,
  schema: optionsSchema,
  run,
});

async function run({ options, ...command }: BenchCommand<z.output<typeof optionsSchema>>): Promise<void> {
  const { connections, rate, tls, events, measuring, only = events ? EVENT_GENERATORS : undefined } = options;
  const floorLabel = measuring ? WITHOUT_PLUGIN_LABEL : FLOOR_LABEL;
  const generators = new Map<string, MeasuredGenerator>(
    (measuring ? MEASURING_GENERATORS : GENERATORS)
      .filter(({ name, label, onRequest }) => label === floorLabel || (only?.includes(name) ?? !onRequest))
      .map((generator) => [generator.label, generator]),
  );
  const scratch = mkdtempSync(join(tmpdir(), 'bench-client-'));
  const worker = await startWorker({}, ['--import', new URL('programs/message-shapes.ts', import.meta.url).href]);
  let proxy: Awaited<ReturnType<typeof startTlsProxy>> | undefined;
  try {
    proxy = tls ? await startTlsProxy(worker.url, connections, join(scratch, 'nginx')) : undefined;
    const { url, caFile } = proxy ?? { url: worker.url };
    const load = { url, caFile, connections, ratePerSec: rate };
    const variants = [...generators.keys()];
    const measureOne = (label: string, folder: string) => {
      mkdirSync(folder, { recursive: true });
      return measureClients(generators.get(label) as MeasuredGenerator, worker, load, PLAN, folder, command.signal);
    };
    let floor: MeasuredClients | undefined;
    const section = sectionFor(options);
    const bench = {
      ...section,
      spread: ', and mean multiples with 95 % intervals',
      variants,
      checkedColumn: section.columns.findIndex(({ title }) => title.startsWith('CPU per message')) + 2,
      versions: toolVersions([...generators.values()]),
      packages: ['socket.io', 'ws', 'socket.io-client', 'artillery', 'artillery-engine-socketio-v3'],
      pids: proxy ? [proxy.pid] : [],
      measure: async (label: string, round: number): Promise<GeneratorAndFloor> => {
        const position = variants.indexOf(label);
        const folder = join(scratch, `${round}-${position}`);
        // A failure of the floor is shown only in its own row.
        const measureFloor = () => measureOne(floorLabel, join(folder, 'floor')).catch(() => undefined);
        const own = await measureOne(label, folder);
        if (label === floorLabel) floor = own;
        else if (position % 2 === 0) floor = await measureFloor();
        return { own, floor };
      },
    };
    await runRounds(bench, { ...command, ...options });
  } finally {
    await proxy?.close();
    await worker.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Returns name, text and columns of the section in docs/benchmarks.md. */
function sectionFor({ tls, events, measuring, connections, rate }: z.output<typeof optionsSchema>) {
  const columns = generatorColumns(tls);
  if (tls)
    return {
      name: 'client-tls',
      text: [`As above, at ${integerText(rate)}/s behind nginx, which terminates TLS.`],
      columns,
    };
  if (events)
    return {
      name: 'client-events',
      text: ['As above; the rows of events are the light client alone.'],
      columns: columns.slice(2, 5),
    };
  if (measuring)
    return {
      name: 'client-measuring',
      text: [
        "As above; both in Artillery, with the same virtual users. The plugin's main thread samples memory and CPU and",
        "serves the live page. Its CPU and the worker's are of the whole load.",
      ],
      columns: measuringColumns(),
    };
  return {
    name: 'client',
    text: [
      `Each generator in turn opens ${integerText(connections)} connections at ${integerText(rate)}/s to one Socket.IO worker`,
      `without a proxy, joins one room, and receives ${PLAN.count} broadcasts of`,
      `${integerText(PLAN.bytes)} characters. The floor is measured between every two of them, and each is compared with the one beside it.`,
    ],
    columns,
  };
}

function toolVersions(generators: MeasuredGenerator[]): Record<string, string> {
  const found = generators.flatMap(({ tool }) => (tool ? [[tool.command, toolVersion(tool)] as const] : []));
  return Object.fromEntries(found.flatMap(([command, version]) => (version ? [[command, version]] : [])));
}
