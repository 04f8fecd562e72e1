/**
 * The quick part of `npm run calibrate`. Counts are exact here as there. Times are compared with what the known server
 * really did, but on a machine that does other things at the same time either process may wait for a core for some time
 * slices in between: hence the wide bounds, which are still far below the delays that they tell apart.
 */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { latency } from '../../../bench/calibrate/calibrate-latency.ts';
import { memory } from '../../../bench/calibrate/calibrate-memory.ts';
import { nativeMemory } from '../../../bench/calibrate/calibrate-native-memory.ts';
import { places } from '../../../bench/calibrate/calibrate-places.ts';
import { type Comparison, cells, type Section } from '../../../bench/calibrate/comparison.ts';
import { hogs } from '../../../bench/calibrate/hogs.ts';

const TIME_BOUND = { absolute: 25 };

/** Counts are right at once. What is measured may miss its bound once, as in `npm run calibrate`, and the output says so. */
async function assertKept(t: TestContext, measure: () => Promise<Section>): Promise<void> {
  const missed = missedOf(await measure());
  assert.deepEqual(missed.filter(({ bound }) => bound === 'exact').map(text), []);
  if (missed.length === 0) return;
  t.diagnostic(`measured again, as it missed ${missed.map(text).join('; ')}`);
  assert.deepEqual(missedOf(await measure()).map(text), []);
}

function missedOf({ rows }: Section): Comparison[] {
  assert.ok(rows.length > 0);
  return rows.filter(({ ok }) => !ok);
}

const text = (row: Comparison) => cells(row).join(' | ');

// Mostly they wait, each for processes of its own.
describe('calibration', { concurrency: 3 }, () => {
  // A read buffer of 64 KB, which Node has at one plateau and not at another, is 410 bytes per connection here.
  it('memory: a Buffer of 16 KB per connection is found', async (t) => {
    const size = { connections: 160, plateaus: 3, kilobytes: [16], warmUps: 0 };
    await assertKept(t, () => memory({ ...size, kinds: ['buffer'], bound: { share: 0.06 } }));
  });

  it('memory: the interval contains 8 KB of native memory per connection', async (t) => {
    await assertKept(t, () => nativeMemory({ connections: 400, plateaus: 4, kilobytes: [8], repeats: 1 }));
  });

  it('by place: functions that keep 2, 8 and 32 KB, and one that uses CPU', async (t) => {
    await assertKept(t, () =>
      places({ connections: 200, connectCpuUs: 2000, bound: { share: 0.2 }, cpuBound: { share: 0.5 } }),
    );
  });

  it('latency: by worker', async (t) => {
    await assertKept(t, () => latency({ receivers: 40, broadcasts: 2, cases: ['byWorker'], bound: TIME_BOUND }));
  });

  it('other programs are found, with what they used', async (t) => {
    await assertKept(t, () =>
      hogs({ receivers: 20, broadcasts: 20, shares: [0.2], bound: { absolute: 8 }, slower: 100 }),
    );
  });
});
