import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { batchRows, deliveryFigures } from '../../../plugin/result/delivery/assemble-delivery.ts';
import { latencyFigures } from '../../../plugin/result/delivery/assemble-latency.ts';
import { BroadcastWindow } from '../../helpers/broadcast-window.ts';
import { column } from '../../helpers/columns.ts';
import { type Publisher, publisherOf } from '../../helpers/late-publisher.ts';

const MEMBERS = 10;
const TOO_FAST = { broadcasts: { count: 120, interval: 0.1 }, drain: { quiet: 1, deadline: 15 } };

async function measure(t: TestContext, options: object, publisher: Publisher) {
  const window = new BroadcastWindow(t, options);
  publisherOf(window, publisher);
  const measured = await window.measure();
  const delivery = deliveryFigures(measured, batchRows(measured), window.context.config);
  return { window, measured, delivery, latency: latencyFigures(measured) };
}

describe('a server that needs longer for a broadcast than the interval', () => {
  it("a slow server gets more time than the drain's deadline while its backlog shrinks", async (t) => {
    const options = { ...TOO_FAST, drain: { quiet: 1, deadline: 2 } };
    const { window, delivery } = await measure(t, options, { needsMs: 160 });
    assert.equal(delivery.received, 120 * MEMBERS);
    assert.ok(window.drainSeconds > 7, `${window.drainSeconds} s`);
  });

  it('a slow server gets at most ten deadlines, after which unconfirmed broadcasts are cut off', async (t) => {
    const options = { ...TOO_FAST, drain: { quiet: 0.5, deadline: 1 } };
    const { window, measured } = await measure(t, options, { needsMs: 400 });
    assert.ok(window.drainSeconds > 10 && window.drainSeconds < 11, `${window.drainSeconds} s`);
    const { tailCut, sent, unknown } = measured;
    assert.equal(sent.length + unknown.length, 120);
    assert.equal(tailCut?.unconfirmed, unknown.length);
    assert.ok(unknown.length > 50, `${unknown.length}`);
  });
});

describe('an unconfirmed broadcast', () => {
  it('an unconfirmed broadcast counts as sent if copies of it arrived, with latency from the intended time', async (t) => {
    const { measured, delivery } = await measure(t, {}, { needsMs: 40, loses: 2 });
    assert.deepEqual(column(measured.sent, 'seq').toSorted(), [1, 2, 3, 4]);
    assert.deepEqual([measured.unsent, measured.unknown], [[], []]);
    assert.deepEqual([delivery.unconfirmed, delivery.unknown], [1, 0]);
    const rows = batchRows(measured);
    assert.deepEqual(column(rows, 'received'), Array(4).fill(MEMBERS));
    assert.deepEqual(rows[1]?.sendDelayMs, null);
    assert.ok((rows[1]?.p50Ms ?? 0) >= 40 && (rows[1]?.p50Ms ?? 0) < 60, `${rows[1]?.p50Ms} ms`);
    assert.equal(rows[1]?.early, 0);
  });

  it('an unconfirmed broadcast counts as sent if only the reference receiver has a copy', async (t) => {
    const window = new BroadcastWindow(t);
    publisherOf(window, { needsMs: 40, loses: 2, sendsLost: false });
    const receivedAtUs = new Map([1, 2, 3, 4].map((seq) => [seq, 1]));
    const sentinel = { worker: 'w0', joinedAtUs: 1, leftAtUs: undefined, receivedAtUs };
    window.context.sentinel = { connected: true, join: async () => sentinel };
    const { sent, unknown } = await window.measure();
    assert.deepEqual([column(sent, 'seq').toSorted(), unknown], [[1, 2, 3, 4], []]);
  });

  it('an unconfirmed broadcast delays the drain until it is quiet for a while, but not to the deadline', async (t) => {
    const options = { drain: { quiet: 1, deadline: 60 } };
    const { window } = await measure(t, options, { needsMs: 0, loses: 4, sendsLost: false });
    assert.ok(window.drainSeconds >= 4.5 && window.drainSeconds < 6, `${window.drainSeconds} s`);
  });

  it('the run waits for an unconfirmed broadcast while its worker may still confirm it', async (t) => {
    const window = new BroadcastWindow(t);
    const { control } = window.context;
    const { broadcast } = control;
    control.broadcast = async (order, via) => {
      const sent = await broadcast(order, via);
      if (order.seq === 4) await wait(4000);
      return sent;
    };
    const { sent } = await window.measure();
    assert.equal(sent.length, 4);
    assert.ok(window.drainSeconds >= 4, `${window.drainSeconds} s`);
  });
});
