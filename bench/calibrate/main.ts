/** The command `npm run calibrate`: measures servers with known true values, and prints the errors. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { z } from 'zod';
import { table } from '../../report/text/table.ts';
import { namesOption, runCommand } from '../bench-command.ts';
import { describeMachine } from '../bench-machine.ts';
import { inService } from './calibrate-in-service.ts';
import { inspector } from './calibrate-inspector.ts';
import { latency } from './calibrate-latency.ts';
import { memory } from './calibrate-memory.ts';
import { nativeMemory, uncollectedMemory } from './calibrate-native-memory.ts';
import { places } from './calibrate-places.ts';
import { DATA, type Measured, markdown, merged, PAGE, readCalibration, serialized } from './calibration-report.ts';
import { cells, type Section, TABLE_HEAD } from './comparison.ts';
import { costIntervals } from './coverage/cost-coverage.ts';
import { latencyIntervals } from './coverage/latency-coverage.ts';
import { memoryIntervals } from './coverage/memory-coverage.ts';
import { differences } from './differences.ts';
import { hogs } from './hogs.ts';
import { studyDifferences } from './study-differences.ts';

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
  inspector: () =>
    inspector({
      connections: [100, 400],
      kilobytes: [0, 4],
      plateaus: 5,
      bound: { absolute: 1024, share: 0.02 },
      nodes: process.env.CALIBRATE_NODES?.split(':'),
    }),
  places: () => places({ connections: 400, connectCpuUs: 2000, bound: { share: 0.1 }, cpuBound: { share: 0.2 } }),
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
  'study-differences': async () => studyDifferences(200),
  // This part takes twenty minutes.
  differences,
} satisfies Record<string, () => Promise<Section>>;
type Part = keyof typeof PARTS;
const PART_NAMES = Object.keys(PARTS) as Part[];

/**
 * Maximum number of attempts per part. Other load on the machine can make an attempt fail, because it affects every
 * measured time.
 */
const MAX_ATTEMPTS = 3;
/** Parts that are never retried. They measure the rate of false alarms, which retries would hide. */
const NEVER_RETRIED: Part[] = ['differences', 'study-differences'];

const USAGE = `usage: npm run calibrate -- [options]
  --only <names>  of ${PART_NAMES.join(', ')}
  --write         also write docs/calibration.md and .json; with --only, just these parts`;
const PACKAGES = ['socket.io', 'ws', 'socket.io-client', 'artillery', 'hdr-histogram-js'];

await runCommand({
  usage: USAGE,
  schema: z.object({ only: namesOption(PART_NAMES).default(PART_NAMES), write: z.boolean().default(false) }),
  run: ({ options }) => calibrate(options),
});

async function calibrate({ only, write }: { only: Part[]; write: boolean }): Promise<void> {
  const machine = describeMachine(PACKAGES);
  const sections: (Section & { when: Measured })[] = [];
  const keepsOthers = only.length < PART_NAMES.length && existsSync(DATA);
  const before = keepsOthers ? readCalibration(readFileSync(DATA, 'utf8')) : undefined;
  // Checks the versions before the measurements, which take half an hour.
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
    if (attempts === MAX_ATTEMPTS || NEVER_RETRIED.includes(name) || missed.length === 0) return { section, attempts };
    console.log(`${section.title}: missed in attempt ${attempts}`);
    console.log(`${table(TABLE_HEAD, missed.map(cells), '  ').join('\n')}\n`);
  }
}
