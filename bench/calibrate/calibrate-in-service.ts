/**
 * Calibrates memory in service (with garbage and buffers) and the computed capacity, on servers that need a known
 * amount of memory.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { memoryFigures } from '../../plugin/result/memory/assemble-memory.ts';
import { knownValues } from '../../plugin/samplers/index.ts';
import type { Result } from '../../protocol/result/result.ts';
import { computeCapacity } from '../../report/figures/capacity.ts';
import { perfectResult } from '../../test/helpers/results.ts';
import {
  type CalibrationSetup,
  createSetupSampler,
  joinClients,
  publishAndFinalize,
  type ServerPlan,
  withCalibrationSetup,
} from './calibration-setup.ts';
import { type CalibrationSection, compareWithin, type TruthComparison, valueOrInfinity } from './comparison.ts';
import { shortRun } from './short-run.ts';

type Memory = Result['memory'];

const CONNECTIONS = 1000;
const PLATEAUS = 5;
/** Allowed error. It is large, because page granularity and the allocator's reserve add noise. */
const BOUND = { share: 0.1 };

/**
 * Plan of a server that keeps enough memory per connection for a reliable slope at rest. Without a slope, no capacity
 * is computed.
 */
const LEAN: ServerPlan = { keep: { kind: 'buffer', bytes: 64 * 1024 } };
/** Plan of a server that keeps its memory in the heap, because large Buffers would trigger collections. */
const GARBAGE_TWIN: ServerPlan = { keep: { kind: 'heap', bytes: 1024 } };
const GARBAGE_BYTES = 8 * 1024;
const COPY_BYTES = 48 * 1024;
/**
 * Time for which a copy is kept, in milliseconds. It exceeds the sampling interval, so that a sample includes the
 * buffers.
 */
const COPY_MS = 2500;
/** Options of Node that prevent collections. Garbage then remains until a forced collection. */
const NO_COLLECTIONS = ['--min-semi-space-size=128', '--max-semi-space-size=128'];
/** Layer to compare. RSS is used, because PSS changes when any Node process on the machine starts or ends. */
const LAYER = 'workerRss';

export async function calibrateInService(): Promise<CalibrationSection> {
  const twin = await memoryOf(GARBAGE_TWIN, NO_COLLECTIONS);
  const garbage = await memoryOf({ ...GARBAGE_TWIN, garbageBytes: GARBAGE_BYTES }, NO_COLLECTIONS);
  const lean = await memoryOf(LEAN);
  const buffering: ServerPlan = { ...LEAN, perCopy: { bytes: COPY_BYTES, forMs: COPY_MS } };
  const rows = await withCalibrationSetup(buffering, async (setup) => {
    const memory = await measure(setup);
    const more = valueOrInfinity(slopeOf(memory)) - valueOrInfinity(slopeOf(lean));
    return [
      compareWithin(
        `a Buffer of ${COPY_BYTES / 1024} KB per copy: ${LAYER} in service`,
        'bytes',
        COPY_BYTES,
        more,
        BOUND,
      ),
      await capacityRow(setup, memory),
    ];
  });
  return {
    title: 'Memory in service',
    text:
      `Servers leave garbage for each connection, or keep a Buffer for each copy for ${COPY_MS / 1000} s. The true value is the ` +
      'memory that the computed capacity of a budget needs.',
    rows: [garbageRow(twin, garbage), ...rows],
  };
}

function memoryOf(server: ServerPlan, execArgv: string[] = []): Promise<Memory> {
  return withCalibrationSetup(server, measure, { execArgv });
}

async function measure(setup: CalibrationSetup): Promise<Memory> {
  const { measurements, sampled } = await shortRun(setup, {
    connections: CONNECTIONS,
    plateaus: PLATEAUS,
    warmUps: 3,
    holdSeconds: 0.5,
    broadcasts: { count: 1, intervalMs: 0 },
    // Waits until the copies are garbage. The next reading collects it.
    drainMs: COPY_MS + 500,
  });
  const memory = memoryFigures(measurements, sampled);
  const { workerPss: _, ...perConnectionBytes } = memory.perConnectionBytes;
  return { ...memory, perConnectionBytes };
}

function garbageRow(twin: Memory, server: Memory): TruthComparison {
  const garbageOf = ({ inService, plateaus }: Memory) =>
    plateaus.reduce((sum, atRest, index) => {
      const before = inService?.plateaus[index]?.workerHeapUsed;
      return index === 0 ? sum : sum + valueOrInfinity(before) - valueOrInfinity(atRest.workerHeapUsed);
    }, 0);
  const measured = garbageOf(server) - garbageOf(twin);
  return compareWithin(
    'garbage of all connections: workerHeapUsed',
    'bytes',
    GARBAGE_BYTES * CONNECTIONS,
    measured,
    BOUND,
  );
}

async function capacityRow(setup: CalibrationSetup, memory: Memory): Promise<TruthComparison> {
  const { fleet } = setup;
  const [first, last] = [memory.plateaus[0]?.[LAYER], memory.inService?.peakBytes[LAYER]];
  // Memory budget for about twice as many connections as were measured.
  const budgetBytes = Math.round(2 * valueOrInfinity(last) - valueOrInfinity(first));
  const capacity = computeCapacity({ ...perfectResult(), memory }, budgetBytes).memoryLimited;
  if (!capacity) throw new Error(`no capacity: ${LAYER} is ${memory.perConnectionBytes[LAYER]?.doubt ?? 'unknown'}`);
  const fitting = capacity.connections;
  await joinClients(fleet, fitting - fleet.status().connected);
  const sampler = createSetupSampler(setup);
  sampler.start();
  await publishAndFinalize(setup, { count: 1, intervalMs: 0, receipts: fitting });
  await delay(COPY_MS / 2);
  const neededBytes = valueOrInfinity(knownValues(await sampler.reading())[LAYER]);
  await sampler.close();
  return compareWithin(
    `budget for ${fitting} connections: ${LAYER} that they need`,
    'bytes',
    neededBytes,
    budgetBytes,
    BOUND,
  );
}

function slopeOf({ inService }: Memory): number | undefined {
  return inService?.perConnectionBytes[LAYER]?.slope;
}
