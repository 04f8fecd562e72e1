/**
 * Tests the quick part of `npm run calibrate`. Counts are exact. Times are compared with the actual behaviour of the
 * known server. On a busy machine, either process may wait for a core, so the bounds are wide, but still far below the
 * delays to detect.
 */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { calibrateLatency } from '../../../bench/calibrate/calibrate-latency.ts';
import { calibrateMemory } from '../../../bench/calibrate/calibrate-memory.ts';
import { calibrateNativeMemory } from '../../../bench/calibrate/calibrate-native-memory.ts';
import { calibrateCodePlaces } from '../../../bench/calibrate/calibrate-places.ts';
import { type CalibrationSection, comparisonCells, type TruthComparison } from '../../../bench/calibrate/comparison.ts';
import { calibrateHogs } from '../../../bench/calibrate/hogs.ts';

const TIME_BOUND = { absolute: 25 };

/**
 * Asserts the bounds. Counts must be correct at the first attempt. A measured value may miss its bound once, as in `npm
 * run calibrate`; this prints a diagnostic.
 */
async function assertKept(t: TestContext, measure: () => Promise<CalibrationSection>): Promise<void> {
  const missed = missedOf(await measure());
  assert.deepEqual(missed.filter(({ bound }) => bound === 'exact').map(text), []);
  if (missed.length === 0) return;
  t.diagnostic(`measured again, as it missed ${missed.map(text).join('; ')}`);
  assert.deepEqual(missedOf(await measure()).map(text), []);
}

function missedOf({ rows }: CalibrationSection): TruthComparison[] {
  assert.ok(rows.length > 0);
  return rows.filter(({ ok }) => !ok);
}

const text = (row: TruthComparison) => comparisonCells(row).join(' | ');

// Runs concurrently, because the cases mostly wait for their own processes.
describe('calibration', { concurrency: 3 }, () => {
  // The bound allows for one read buffer of 64 KB, which Node may keep at one plateau only. That is 410 bytes per
  // connection.
  it('calibration finds a Buffer of 16 KB per connection', async (t) => {
    const size = { connections: 160, plateaus: 3, kilobytes: [16], warmUps: 0 };
    await assertKept(t, () => calibrateMemory({ ...size, kinds: ['buffer'], bound: { share: 0.06 } }));
  });

  it('calibration finds 8 KB of native memory per connection, within the interval', async (t) => {
    await assertKept(t, () => calibrateNativeMemory({ connections: 400, plateaus: 4, kilobytes: [8], repeats: 1 }));
  });

  it('calibration finds functions that retain 2, 8 and 32 KB, and one that uses CPU', async (t) => {
    await assertKept(t, () =>
      calibrateCodePlaces({ connections: 200, connectCpuUs: 2000, bound: { share: 0.2 }, cpuBound: { share: 0.5 } }),
    );
  });

  it('calibration finds the configured latency of each worker', async (t) => {
    await assertKept(t, () =>
      calibrateLatency({ receivers: 40, broadcasts: 2, cases: ['byWorker'], bound: TIME_BOUND }),
    );
  });

  it('calibration finds other programs, and the CPU that they used', async (t) => {
    await assertKept(t, () =>
      calibrateHogs({ receivers: 20, broadcasts: 20, shares: [0.2], bound: { absolute: 8 }, slower: 100 }),
    );
  });
});
