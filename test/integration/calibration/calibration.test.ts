/**
 * The quick part of `npm run calibrate`. Counts are exact here as there. Times are compared with what the known server
 * really did, but on a machine that does other things at the same time either process may wait for a core for some time
 * slices in between: hence the wide bounds, which are still far below the delays that they tell apart.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cells, type Section } from '../../../bench/calibrate/comparison.ts';
import { connecting } from '../../../bench/calibrate/connecting.ts';
import { delivery } from '../../../bench/calibrate/delivery.ts';
import { latency } from '../../../bench/calibrate/latency.ts';
import { memory } from '../../../bench/calibrate/memory.ts';
import { payloads } from '../../../bench/calibrate/payloads.ts';
import { roundTrip } from '../../../bench/calibrate/round-trip.ts';
import { stall } from '../../../bench/calibrate/stall.ts';

const TIME_BOUND = { absolute: 25 };

function assertKept({ rows }: Section): void {
  assert.ok(rows.some(({ ok }) => ok));
  const missed = rows.filter(({ ok }) => ok === false).map((row) => cells(row).join(' | '));
  assert.deepEqual(missed, []);
}

// Mostly they wait, each for processes of its own.
describe('calibration', { concurrency: 3 }, () => {
  it('memory: a Buffer of 16 KB per connection is found to the byte', async () => {
    const size = { connections: 160, plateaus: 3, kilobytes: [16], warmUps: 0, cold: false };
    assertKept(await memory({ ...size, kinds: ['buffer'], bound: { share: 0.02 } }));
  });

  it('latency: by worker', async () => {
    assertKept(await latency({ receivers: 40, broadcasts: 2, cases: ['byWorker'], bound: TIME_BOUND }));
  });

  it('a stalled generator is distinguished from a stalled server', async () => {
    assertKept(await stall({ receivers: 20, stallMs: 300, bound: { absolute: 60 } }));
  });

  it('delivery: every fault is counted in its own column, exactly', async () => {
    assertKept(await delivery({ members: 60, victims: 4, processes: 2 }));
  });

  it('payloads: every wrong copy and every byte is counted, exactly', async () => {
    assertKept(await payloads({ members: 64, sizes: [1, 1000], victims: 3 }));
  });

  it('connecting: stages, rate and refusals by cause', async () => {
    assertKept(await connecting({ connections: 60, ratePerSec: 200, refusals: 2, bound: TIME_BOUND }));
  });

  it('the latency of receivers shows which direction is slow, half the round trip does not', async () => {
    const links = [
      { downMs: 10, upMs: 110 },
      { downMs: 110, upMs: 10 },
    ];
    assertKept(await roundTrip({ receivers: 5, broadcasts: 2, links, bound: TIME_BOUND }));
  });
});
