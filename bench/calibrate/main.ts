/** `npm run calibrate`: servers with known true values, what the product measured, and the errors. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { CapacityError, describeError } from '../../protocol/codes/errors.ts';
import { table } from '../../report/text/table.ts';
import { describeMachine } from '../bench-machine.ts';
import { inService } from './calibrate-in-service.ts';
import { latency } from './calibrate-latency.ts';
import { memory } from './calibrate-memory.ts';
import { nativeMemory, uncollectedMemory } from './calibrate-native-memory.ts';
import { DATA, type Measured, markdown, merged, PAGE, readCalibration, serialized } from './calibration-report.ts';
import { cells, type Section, TABLE_HEAD } from './comparison.ts';
import { costIntervals } from './coverage/cost-coverage.ts';
import { latencyIntervals } from './coverage/latency-coverage.ts';
import { memoryIntervals } from './coverage/memory-coverage.ts';
import { differences } from './differences.ts';
import { hogs } from './hogs.ts';
import { studyDifferences } from './study-differences.ts';
import { wholeRun } from './whole-run.ts';

/** Required of the product. */
const TIME_BOUND = { absolute: 1, share: 0.01 };
const MEMORY_BOUND = { share: 0.02 };

const PARTS = {
  memory: () =>
    memory({
      connections: 4000,
      plateaus: 9,
      kinds: ['buffer', 'heap'],
      kilobytes: [4, 16, 64],
      warmUps: 3,
      bound: MEMORY_BOUND,
    }),
  'native-memory': () => nativeMemory({ connections: 1000, plateaus: 6, kilobytes: [0, 2, 4, 8], repeats: 3 }),
  'uncollected-memory': () => uncollectedMemory({ connections: [100, 200, 400], repeats: 5 }),
  'in-service': inService,
  latency: () => latency({ receivers: 200, broadcasts: 20, cases: ['uniform', 'byWorker'], bound: TIME_BOUND }),
  hogs: () =>
    hogs({
      receivers: 200,
      broadcasts: 50,
      shares: [0.15, 0.3, 0.5],
      bound: { absolute: 2, share: 0.05 },
      slower: 1.5,
    }),
  'latency-intervals': latencyIntervals,
  'memory-intervals': () => memoryIntervals(1000),
  'cost-intervals': costIntervals,
  run: wholeRun,
  'study-differences': async () => studyDifferences(200),
  // Twenty minutes.
  differences,
} satisfies Record<string, () => Promise<Section>>;
type Part = keyof typeof PARTS;
const names = Object.keys(PARTS) as Part[];

/** Other load on the machine affects every time that is measured, and is no property of the product. */
const MAX_ATTEMPTS = 3;
/** Noise is what it is about: whoever repeats it until it is right proves nothing. */
const ONCE: Part[] = ['differences', 'study-differences'];

const USAGE = `usage: npm run calibrate -- [options]
  --only <names>  of ${names.join(', ')}
  --write         write docs/calibration.md and .json, too; with --only, these parts of them`;
const PACKAGES = ['socket.io', 'ws', 'socket.io-client', 'artillery', 'hdr-histogram-js'];

try {
  await main();
} catch (error) {
  console.error(describeError(error));
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { only, write } = parseOptions();
  const machine = describeMachine(PACKAGES);
  const sections: (Section & { when: Measured })[] = [];
  const keeps = only.length < names.length && existsSync(DATA);
  const before = keeps ? readCalibration(readFileSync(DATA, 'utf8')) : undefined;
  // Data of other versions are refused now, and not after half an hour.
  if (write) merged(machine, sections, before);
  for (const name of only) {
    const load = loadavg()[0] as number;
    const { section, attempts } = await measured(name);
    const date = new Date().toISOString().slice(0, 10);
    const commit = machine.gitCommit?.slice(0, 12) ?? 'unknown';
    sections.push({ ...section, when: { date, commit, load, attempts } });
    console.log(`${section.title}${attempts > 1 ? ` (attempt ${attempts})` : ''}`);
    console.log(`${table(TABLE_HEAD, section.rows.map(cells), '  ').join('\n')}\n`);
  }
  const missed = sections.flatMap(({ title, rows }) =>
    rows.filter(({ ok }) => !ok).map(({ what }) => `${title}: ${what}`),
  );
  const bounds = sections.flatMap(({ rows }) => rows).length;
  console.log(missed.length === 0 ? `All ${bounds} bounds are kept.` : `Missed: ${missed.join('; ')}`);
  if (missed.length > 0) process.exitCode = 1;
  if (write) {
    const calibration = merged(machine, sections, before);
    writeFileSync(DATA, serialized(calibration));
    writeFileSync(PAGE, markdown(calibration));
    console.log(`Written to ${PAGE} and ${DATA}`);
  }
}

async function measured(name: Part): Promise<{ section: Section; attempts: number }> {
  for (let attempts = 1; ; attempts++) {
    const section = await PARTS[name]();
    const missed = section.rows.filter(({ ok }) => !ok);
    if (attempts === MAX_ATTEMPTS || ONCE.includes(name) || missed.length === 0) return { section, attempts };
    console.log(`${section.title}: missed in attempt ${attempts}`);
    console.log(`${table(TABLE_HEAD, missed.map(cells), '  ').join('\n')}\n`);
  }
}

function parseOptions(): { only: Part[]; write: boolean } {
  try {
    const { values } = parseArgs({ options: { only: { type: 'string' }, write: { type: 'boolean', default: false } } });
    const only = z.array(z.enum(names as [Part, ...Part[]])).parse(values.only?.split(',') ?? names);
    return { only, write: values.write };
  } catch (error) {
    const message = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message;
    throw new CapacityError('CONFIG_INVALID', message, USAGE);
  }
}
