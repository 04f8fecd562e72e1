/** The command `npm run calibrate`: measures servers with known true values, and prints the errors. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { z } from 'zod';
import { tableLines } from '../../report/text/table.ts';
import { namesOption, runCommand } from '../bench-command.ts';
import { describeMachine } from '../bench-machine.ts';
import { calibrateInService } from './calibrate-in-service.ts';
import { calibrateInspector } from './calibrate-inspector.ts';
import { calibrateLatency } from './calibrate-latency.ts';
import { calibrateMemory } from './calibrate-memory.ts';
import { calibrateNativeMemory, calibrateUncollectedMemory } from './calibrate-native-memory.ts';
import { calibrateCodePlaces } from './calibrate-places.ts';
import {
  CALIBRATION_DATA,
  CALIBRATION_PAGE,
  type CalibrationTime,
  calibrationMarkdown,
  mergeCalibration,
  readCalibration,
  serializeCalibration,
} from './calibration-report.ts';
import { type CalibrationSection, comparisonCells, TABLE_HEAD } from './comparison.ts';
import { costIntervalCoverage } from './coverage/cost-coverage.ts';
import { latencyIntervalCoverage } from './coverage/latency-coverage.ts';
import { memoryIntervalCoverage } from './coverage/memory-coverage.ts';
import { calibrateDifferences } from './differences.ts';
import { calibrateHogs } from './hogs.ts';
import { studyDifferences } from './study-differences.ts';

const TIME_BOUND = { absolute: 1, share: 0.01 };
const MEMORY_BOUND = { share: 0.02 };

const PARTS = {
  memory: () =>
    calibrateMemory({
      connections: 4000,
      plateaus: 9,
      kinds: ['buffer', 'heap'],
      kilobytes: [4, 16, 64],
      warmUps: 3,
      bound: MEMORY_BOUND,
    }),
  'native-memory': () => calibrateNativeMemory({ connections: 1000, plateaus: 6, kilobytes: [0, 2, 4, 8], repeats: 3 }),
  'uncollected-memory': () => calibrateUncollectedMemory({ connections: [100, 200, 400], repeats: 5 }),
  inspector: () =>
    calibrateInspector({
      connections: [100, 400],
      kilobytes: [0, 4],
      plateaus: 5,
      bound: { absolute: 1024, share: 0.02 },
      nodes: process.env.CALIBRATE_NODES?.split(':'),
    }),
  places: () =>
    calibrateCodePlaces({ connections: 400, connectCpuUs: 2000, bound: { share: 0.1 }, cpuBound: { share: 0.2 } }),
  'in-service': calibrateInService,
  latency: () =>
    calibrateLatency({ receivers: 200, broadcasts: 20, cases: ['uniform', 'byWorker'], bound: TIME_BOUND }),
  hogs: () =>
    calibrateHogs({
      receivers: 200,
      broadcasts: 50,
      shares: [0.15, 0.3, 0.5],
      bound: { absolute: 2, share: 0.05 },
      slower: 1.5,
    }),
  'latency-intervals': latencyIntervalCoverage,
  'memory-intervals': () => memoryIntervalCoverage(1000),
  'cost-intervals': costIntervalCoverage,
  'study-differences': async () => studyDifferences(200),
  // This part takes twenty minutes.
  differences: calibrateDifferences,
} satisfies Record<string, () => Promise<CalibrationSection>>;
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
  const sections: (CalibrationSection & { when: CalibrationTime })[] = [];
  const keepsOthers = only.length < PART_NAMES.length && existsSync(CALIBRATION_DATA);
  const before = keepsOthers ? readCalibration(readFileSync(CALIBRATION_DATA, 'utf8')) : undefined;
  // Checks the versions before the measurements, which take half an hour.
  if (write) mergeCalibration(machine, sections, before);
  for (const name of only) {
    const load = loadavg()[0] as number;
    const { section, attempts } = await measured(name);
    const date = new Date().toISOString().slice(0, 10);
    const commit = machine.gitCommit?.slice(0, 12) ?? 'unknown';
    sections.push({ ...section, when: { date, commit, load, attempts } });
    console.log(`${section.title}${attempts > 1 ? ` (attempt ${attempts})` : ''}`);
    console.log(`${tableLines(TABLE_HEAD, section.rows.map(comparisonCells), '  ').join('\n')}\n`);
  }
  const missed = sections.flatMap(({ title, rows }) =>
    rows.filter(({ ok }) => !ok).map(({ what }) => `${title}: ${what}`),
  );
  const bounds = sections.flatMap(({ rows }) => rows).length;
  console.log(missed.length === 0 ? `All ${bounds} bounds are kept.` : `Missed: ${missed.join('; ')}`);
  if (missed.length > 0) process.exitCode = 1;
  if (write) {
    const calibration = mergeCalibration(machine, sections, before);
    writeFileSync(CALIBRATION_DATA, serializeCalibration(calibration));
    writeFileSync(CALIBRATION_PAGE, calibrationMarkdown(calibration));
    console.log(`Written to ${CALIBRATION_PAGE} and ${CALIBRATION_DATA}`);
  }
}

async function measured(name: Part): Promise<{ section: CalibrationSection; attempts: number }> {
  for (let attempts = 1; ; attempts++) {
    const section = await PARTS[name]();
    const missed = section.rows.filter(({ ok }) => !ok);
    if (attempts === MAX_ATTEMPTS || NEVER_RETRIED.includes(name) || missed.length === 0) return { section, attempts };
    console.log(`${section.title}: missed in attempt ${attempts}`);
    console.log(`${tableLines(TABLE_HEAD, missed.map(comparisonCells), '  ').join('\n')}\n`);
  }
}
