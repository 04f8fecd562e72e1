/** The command `npm run bench:server`: measures the effect of each tuning of the bundled server. */
import { z } from 'zod';
import { median } from '../../report/statistics/statistics.ts';
import { decimalsText, integerText } from '../../report/text/format.ts';
import { type TuningName, tuningEntries } from '../../server/tunings.ts';
import { type BenchCommand, roundsOptions, runCommand } from '../bench-command.ts';
import { type BenchColumn, figureColumn, runRounds, variantValues } from '../rounds.ts';
import { type MeasuredServer, measureServer, type ServerVariant } from './measure-servers.ts';

const PLAN = { count: 20, bytes: 1000 };
const DEFAULTS = 'defaults';
/** Tunings that are left out, because the bench's client neither requests compression nor polls. */
const WITHOUT_EFFECT: TuningName[] = ['perMessageDeflate', 'httpCompression'];
const FLAGS = [
  '--max-semi-space-size=1',
  '--max-semi-space-size=64',
  '--optimize-for-size',
  '--single-threaded-gc',
  '--v8-pool-size=1',
];

/** The variants: defaults, each relevant tuning inverted, no tuning, and flags of V8. */
const SETTINGS: Record<string, ServerVariant> = {
  [DEFAULTS]: { environment: {}, flags: [] },
  ...Object.fromEntries(
    tuningEntries()
      .filter(([name]) => !WITHOUT_EFFECT.includes(name))
      .map(([, { variable, byDefault }]) => {
        const value = onOff(!byDefault);
        return [`${variable}=${value}`, { environment: { [variable]: value }, flags: [] }];
      }),
  ),
  'untuned Socket.IO': {
    environment: Object.fromEntries(
      tuningEntries().map(([, { variable, inSocketIo }]) => [variable, onOff(inSocketIo)]),
    ),
    flags: [],
  },
  ...Object.fromEntries(FLAGS.map((flag) => [`node ${flag}`, { environment: {}, flags: [flag] }])),
};

const COLUMNS: BenchColumn<MeasuredServer>[] = [
  figureColumn('RSS per connection (bytes)', ({ rssPerConnectionBytes }) => rssPerConnectionBytes, integerText),
  figureColumn('heap per connection (bytes)', heapBytes, integerText),
  figureColumn('CPU per connection (µs)', ({ cpuPerConnectionUs }) => cpuPerConnectionUs, integerText),
  figureColumn(
    'CPU per message (µs)',
    ({ cpuPerMessageUs }) => cpuPerMessageUs,
    (us) => decimalsText(us, 2),
  ),
  figureColumn('CPU per ping (µs)', ({ cpuPerPingUs }) => cpuPerPingUs, integerText),
  {
    title: 'heap against defaults',
    // Uses the live heap. It varies so little that small differences are visible.
    cell: (rounds, variant) => {
      const [own, defaults] = [variant, DEFAULTS].map((name) => median(variantValues(rounds, name, heapBytes)));
      if (own === undefined || defaults === undefined || variant === DEFAULTS) return '';
      return `${own >= defaults ? '+' : ''}${integerText(own - defaults)}`;
    },
  },
];

const optionsSchema = z.object({
  connections: z.coerce.number().int().min(400).multipleOf(4).default(4000),
  ...roundsOptions(Object.keys(SETTINGS)),
});

await runCommand({
  usage: `usage: npm run bench:server -- [options]
  --connections <n>  multiple of 4, at least 400 (default 4,000)
  --repeat <n>       rounds; the table has medians (default 1)
  --only <names>     only these rows, separated by commas
  --publish          also write the section of docs/benchmarks.md`,
  schema: optionsSchema,
  run,
});

async function run({ options, ...command }: BenchCommand<z.output<typeof optionsSchema>>): Promise<void> {
  const { connections, only } = options;
  const bench = {
    name: 'server',
    text: [
      `One Socket.IO worker without proxy and Redis holds up to ${integerText(connections)} connections, which have joined one room and`,
      `receive ${PLAN.count} broadcasts of ${integerText(PLAN.bytes)} characters. The first row has the defaults; each other row changes one setting,`,
      'except `untuned Socket.IO`, which has no tuning.',
    ],
    variants: Object.keys(SETTINGS).filter((name) => only?.includes(name) ?? true),
    columns: COLUMNS,
    packages: ['socket.io', 'engine.io', 'ws'],
    measure: (name: string) => measureServer(SETTINGS[name] as ServerVariant, connections, PLAN, command.signal),
  };
  await runRounds(bench, { ...command, ...options });
}

function heapBytes({ heapPerConnectionBytes }: MeasuredServer): number {
  return heapPerConnectionBytes;
}

function onOff(isOn: boolean): string {
  return isOn ? 'on' : 'off';
}
