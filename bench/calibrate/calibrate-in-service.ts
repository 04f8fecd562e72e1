/** Servers that need a known amount of memory beyond what they keep: is it found, and is the capacity right? */

import { setTimeout as delay } from 'node:timers/promises';
import { memoryFigures } from '../../plugin/result/memory/assemble-memory.ts';
import { valuesOf } from '../../plugin/samplers/index.ts';
import type { Result } from '../../protocol/result/result.ts';
import { computeCapacity } from '../../report/figures/capacity.ts';
import { perfectResult } from '../../test/helpers/results.ts';
import { broadcast, join, type ServerPlan, type Setup, samplerOf, withSetup } from './calibration-setup.ts';
import { type Comparison, known, near, type Section } from './comparison.ts';
import { shortRun } from './short-run.ts';

type Memory = Result['memory'];

const CONNECTIONS = 1000;
const PLATEAUS = 5;
/** Pages of a process, and what the allocator has in reserve, are no exact bytes. */
const BOUND = { share: 0.1 };

/** Enough for a line at rest that may be quoted: without one, there is no capacity. */
const LEAN: ServerPlan = { keep: { kind: 'buffer', bytes: 64 * 1024 } };
/** Little outside of the heap: large Buffers make V8 collect. */
const TIDY: ServerPlan = { keep: { kind: 'heap', bytes: 1024 } };
const GARBAGE_BYTES = 8 * 1024;
const COPY_BYTES = 48 * 1024;
/** Longer than the sampler's interval. */
const COPY_MS = 2500;
/** So that garbage stays until it is ordered to go. */
const NO_COLLECTIONS = ['--min-semi-space-size=128', '--max-semi-space-size=128'];
/** PSS changes whenever any other Node process on the machine starts or ends. */
const LAYER = 'workerRss';

export async function inService(): Promise<Section> {
  const tidy = await memoryOf(TIDY, NO_COLLECTIONS);
  const littering = await memoryOf({ ...TIDY, garbageBytes: GARBAGE_BYTES }, NO_COLLECTIONS);
  const lean = await memoryOf(LEAN);
  const lavish: ServerPlan = { ...LEAN, perCopy: { bytes: COPY_BYTES, forMs: COPY_MS } };
  const rows = await withSetup(lavish, async (setup) => {
    const memory = await measure(setup);
    const more = known(slopeOf(memory)) - known(slopeOf(lean));
    return [
      near(`a Buffer of ${COPY_BYTES / 1024} KB per copy: ${LAYER} in service`, 'bytes', COPY_BYTES, more, BOUND),
      await capacityRow(setup, memory),
    ];
  });
  return {
    title: 'Memory in service',
    text:
      'One server leaves garbage for each connection, and its twin does not. Another keeps a Buffer for each copy of a ' +
      `broadcast for ${COPY_MS / 1000} s. Then as many connections as fit in a budget, by the line, connect and receive a ` +
      'broadcast: the memory that they need is the true value.',
    rows: [garbageRow(tidy, littering), ...rows],
  };
}

function memoryOf(server: ServerPlan, execArgv: string[] = []): Promise<Memory> {
  return withSetup(server, measure, { execArgv });
}

async function measure(setup: Setup): Promise<Memory> {
  const { measurements, sampled } = await shortRun(setup, {
    connections: CONNECTIONS,
    plateaus: PLATEAUS,
    warmUps: 3,
    holdSeconds: 0.5,
    broadcasts: { count: 1, intervalMs: 0 },
    // Until the copies are garbage: the reading after it collects them.
    drainMs: COPY_MS + 500,
  });
  const memory = memoryFigures(measurements, sampled);
  const { workerPss: _, ...perConnectionBytes } = memory.perConnectionBytes;
  return { ...memory, perConnectionBytes };
}

function garbageRow(tidy: Memory, littering: Memory): Comparison {
  const garbage = ({ inService, plateaus }: Memory) =>
    plateaus.reduce((sum, atRest, index) => {
      const before = inService?.plateaus[index]?.workerHeapUsed;
      return index === 0 ? sum : sum + known(before) - known(atRest.workerHeapUsed);
    }, 0);
  const measured = garbage(littering) - garbage(tidy);
  return near('garbage of all connections: workerHeapUsed', 'bytes', GARBAGE_BYTES * CONNECTIONS, measured, BOUND);
}

async function capacityRow(setup: Setup, memory: Memory): Promise<Comparison> {
  const { fleet } = setup;
  const [first, last] = [memory.plateaus[0]?.[LAYER], memory.inService?.peakBytes[LAYER]];
  // About twice as many connections as were measured.
  const budgetBytes = Math.round(2 * known(last) - known(first));
  const capacity = computeCapacity({ ...perfectResult(), memory }, budgetBytes).memoryLimited;
  if (!capacity) throw new Error(`no capacity: ${LAYER} is ${memory.perConnectionBytes[LAYER]?.doubt ?? 'not known'}`);
  const fitting = capacity.connections;
  await join(fleet, fitting - fleet.status().connected);
  const sampler = samplerOf(setup);
  sampler.start();
  await broadcast(setup, { count: 1, intervalMs: 0, receipts: fitting });
  await delay(COPY_MS / 2);
  const neededBytes = known(valuesOf(await sampler.reading())[LAYER]);
  await sampler.close();
  return near(`budget for ${fitting} connections: ${LAYER} that they need`, 'bytes', neededBytes, budgetBytes, BOUND);
}

function slopeOf({ inService }: Memory): number | undefined {
  return inService?.perConnectionBytes[LAYER]?.slope;
}
