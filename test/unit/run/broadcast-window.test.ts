import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { mergeCpuWindows } from '../../../plugin/result/cpu/assemble-cpu.ts';
import type { RunContext } from '../../../plugin/run/context.ts';
import { membersWithoutOwnClients } from '../../../plugin/run/receivers/members-without-own-clients.ts';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import type { FreezeRequest } from '../../../protocol/link/ledger-messages.ts';
import { BroadcastWindow } from '../../helpers/broadcast-window.ts';
import { assertEach, column, columns } from '../../helpers/columns.ts';
import { assertNames } from '../../helpers/verdict.ts';

type Broadcast = RunContext['control']['broadcast'];

/**
 * Returns a window of broadcasts that are sent in another way.
 * @param change wraps the `broadcast` function of the workers
 */
function windowWith(t: TestContext, change: (broadcast: Broadcast, window: BroadcastWindow) => Broadcast) {
  const window = new BroadcastWindow(t);
  const { control } = window.context;
  control.broadcast = change(control.broadcast, window);
  return window;
}

describe('broadcasts', () => {
  it('sends broadcasts on schedule, with the workers taking turns', async (t) => {
    const { sent, unsent } = await new BroadcastWindow(t).measure();
    const byWorkers = { seq: [1, 2, 3, 4], via: [0, 1, 0, 1], worker: ['w0', 'w1', 'w0', 'w1'] };
    assert.deepEqual(columns(sent, 'seq', 'via', 'worker', 'expected'), { ...byWorkers, expected: [11, 11, 11, 11] });
    assert.deepEqual(unsent, []);
    const firstUs = sent[0]?.intendedAtUs ?? 0;
    for (const [index, { intendedAtUs, sentAtUs }] of sent.entries()) {
      assert.deepEqual([intendedAtUs - firstUs, sentAtUs], [index * 1_000_000, intendedAtUs]);
    }
  });

  it('requests each broadcast from its worker less than a second ahead of its time', async (t) => {
    const aheadMs: number[] = [];
    const window = windowWith(t, (broadcast) => (order, via) => {
      aheadMs.push(((order.atUs ?? 0) - monotonicUs()) / 1000);
      return broadcast(order, via);
    });
    await window.measure();
    assert.equal(aheadMs.length, 4);
    for (const ms of aheadMs) assert.ok(ms > 100 && ms < 1000, `${ms} ms ahead`);
  });

  it('keeps the number of a broadcast if a worker confirms another number, and records this', async (t) => {
    const window = windowWith(t, (broadcast) => async (order, via) => ({ ...(await broadcast(order, via)), seq: 1 }));
    const { sent } = await window.measure();
    assert.deepEqual(columns(sent, 'seq', 'confirmedAs'), { seq: [1, 2, 3, 4], confirmedAs: [undefined, 1, 1, 1] });
  });

  it('sends no broadcasts once the run is stopped', async (t) => {
    const ordered: number[] = [];
    const window = windowWith(t, (broadcast, { run }) => (order, via) => {
      ordered.push(order.seq);
      if (order.seq === 2) run.stop.abort();
      return broadcast(order, via);
    });
    const { sent } = await window.measure();
    assert.deepEqual({ ordered, sent: column(sent, 'seq') }, { ordered: [1, 2], sent: [1, 2] });
  });

  it('keeps the schedule of broadcasts if a worker is slow: the delay is in their send time', async (t) => {
    const window = windowWith(
      t,
      (broadcast) =>
        ({ seq, atUs = 0, ...order }, via) =>
          broadcast({ ...order, seq, atUs: seq === 2 ? atUs + 1_500_000 : atUs }, via),
    );
    const { sent } = await window.measure();
    const delaysMs = sent.map(({ seq, sentAtUs, intendedAtUs }) => [seq, (sentAtUs - intendedAtUs) / 1000]);
    assert.deepEqual(Object.fromEntries(delaysMs), { 1: 0, 2: 1500, 3: 0, 4: 0 });
  });

  it('records failed broadcasts with the reason, and requests no ledger rows for them', async (t) => {
    const window = windowWith(
      t,
      (broadcast) => (order, via) => (order.seq === 2 ? Promise.reject(new Error('no worker')) : broadcast(order, via)),
    );
    const { sent, unsent } = await window.measure();
    assert.deepEqual(column(sent, 'seq'), [1, 3, 4]);
    assert.deepEqual(columns(unsent, 'seq', 'message'), { seq: [2], message: ['no worker'] });
    assert.ok(window.run.asked.includes('freeze 1,3,4'));
  });

  it('finalizes the ledger of broadcasts once, after the drain', async (t) => {
    const window = new BroadcastWindow(t);
    const { freeze } = window.context.link;
    const asked: { orders: FreezeRequest[]; received: number }[] = [];
    const beganAtUs = monotonicUs();
    window.context.link.freeze = (orders) => {
      asked.push({ orders, received: window.run.status.received });
      return freeze(orders);
    };
    const { sent, frozen } = await window.measure();
    const orders = sent.map(({ seq, worker, sentAtUs, intendedAtUs, orderedAtUs }, index) => ({
      ...{ seq, room: 'capacity', worker, sentAtUs, intendedAtUs, orderedAtUs },
      previousAtUs: sent[index - 1]?.orderedAtUs ?? beganAtUs,
    }));
    assert.deepEqual(asked, [{ orders, received: 40 }]);
    assertEach(orders, ({ orderedAtUs = 0, sentAtUs }) => (sentAtUs - orderedAtUs) / 1000, [200, 200, 200, 200]);
    assert.deepEqual(columns(frozen, 'seq', 'received'), { seq: [1, 2, 3, 4], received: [10, 10, 10, 10] });
  });

  it('expects broadcasts to several rooms only at the members of their room', async (t) => {
    const window = new BroadcastWindow(t, { rooms: { count: 2 }, drain: { quiet: 1, deadline: 2 } });
    const { control, link } = window.context;
    control.broadcast = async ({ seq, room, atUs = 0 }, via) => {
      window.run.status.reached += 5;
      return { seq, sentAtUs: atUs, worker: `w${via}`, expected: room === 'capacity:0' ? 6 : 5 };
    };
    let frozen: FreezeRequest[] = [];
    const { freeze } = link;
    link.freeze = (orders) => {
      frozen = orders;
      return freeze(orders);
    };
    const measured = await window.measure();
    const rooms = ['capacity:0', 'capacity:1', 'capacity:0', 'capacity:1'];
    assert.deepEqual(columns(measured.sent, 'room', 'via'), { room: rooms, via: [0, 1, 1, 0] });
    assert.deepEqual(column(frozen, 'room'), rooms);
    assertEach(measured.sent, (one) => membersWithoutOwnClients(one, measured), [5, 5, 5, 5]);
    assert.ok(window.drainSeconds < 1.5, 'nothing is outstanding');
    assert.deepEqual(window.run.codes, ['PROBE_INCOMPLETE']);
    assertNames(window.run.noticed[0]?.message, ['2 of 2']);
  });
});

describe('the window', () => {
  it('the broadcast window counts copies received since its start, and includes the drain', async (t) => {
    const window = new BroadcastWindow(t);
    window.run.status.received = 7;
    const { cpu } = await window.measure();
    const whole = mergeCpuWindows(cpu.broadcasts);
    assert.equal(whole?.units, 40);
    const seconds = whole?.seconds ?? 0;
    assert.ok(seconds >= 3 + 1 && seconds < 5, `${seconds} s`);
    assert.equal(Math.round(whole?.cpuUs.worker ?? 0), Math.round(seconds * 1e5));
  });

  it('splits the broadcast window into parts with equal numbers of broadcasts', async (t) => {
    const window = new BroadcastWindow(t, { broadcasts: { count: 25, interval: 1 } });
    const { cpu, sent } = await window.measure();
    assert.equal(sent.length, 25);
    assert.deepEqual(column(cpu.broadcasts, 'units'), [...Array<number>(11).fill(20), 30]);
    // The first part includes the wait before it. The last part includes one more broadcast and the drain.
    for (const { seconds } of cpu.broadcasts.slice(1, -1)) assert.ok(Math.abs(seconds - 2) < 0.05, `${seconds} s`);
    for (const { seconds, cpuUs } of cpu.broadcasts) assert.equal(Math.round((cpuUs.worker ?? 0) / seconds), 100_000);
  });

  it("a broadcast window without a ledger counts copies by the server's member counts", async (t) => {
    const window = new BroadcastWindow(t);
    window.context.ledger = false;
    const { cpu, frozen, afterBroadcasts } = await window.measure();
    assert.equal(mergeCpuWindows(cpu.broadcasts)?.units, 44);
    assert.deepEqual(frozen, []);
    assert.ok(!window.run.asked.some((what) => what.startsWith('freeze')));
    assert.ok(afterBroadcasts);
  });

  it('subtracts the traffic that member counts cause from the traffic of Redis', async (t) => {
    const window = new BroadcastWindow(t);
    const { control } = window.context;
    const idle = { node: 'a:1', version: '7.0.15', rssBytes: 9, channels: 4, shardChannels: 0 };
    const seen = { ...idle, inBytes: 0, outBytes: 0, cpuUs: 0, usedMemoryBytes: 50, streamEntries: 0 };
    const traffic = async (stream?: string) => {
      seen.cpuUs += 70;
      return [{ ...seen, streamEntries: stream === 'entries' ? seen.streamEntries : null }];
    };
    window.context.redis = { name: 'Redis at a:1', answers: async () => true, absence: undefined, traffic };
    window.run.measurements.redisStream = 'entries';
    const pass = (bytes: number) => {
      seen.inBytes += bytes;
      seen.outBytes += 2 * bytes;
      seen.cpuUs += bytes / 10;
      seen.usedMemoryBytes += bytes;
      seen.streamEntries++;
    };
    control.members = async () => {
      pass(100);
      return 10;
    };
    const { broadcast } = control;
    control.broadcast = (order, via) => {
      pass(100 + 1000);
      return broadcast(order, via);
    };
    const { redis } = await window.measure();
    const usedMemoryBeforeBytes = seen.usedMemoryBytes - 4400;
    const { cpuUs: _, ...shown } = seen;
    const nodes = [{ ...shown, inBytes: 4000, outBytes: 8000, usedMemoryBeforeBytes }];
    assert.deepEqual(redis, { nodes, cpuUs: 400, hosts: undefined });
  });

  it("the broadcast window measures the generator's event loops from just before the first broadcast", async (t) => {
    const window = windowWith(t, (broadcast, { run }) => (order, via) => {
      run.asked.push('broadcast');
      return broadcast(order, via);
    });
    const { roundTripsUs, generator } = await window.measure();
    assert.deepEqual(window.run.asked, [
      'snapshots',
      ...Array<string>(4).fill('broadcast'),
      ...['snapshots', 'freeze 1,2,3,4', 'gc', 'gc', 'gc'],
    ]);
    assert.deepEqual(columns(generator, 'window', 'part'), { window: ['broadcasts'], part: ['artillery'] });
    assert.deepEqual(roundTripsUs, { single: [], underLoad: [2000, 2000, 2000, 2000] });
  });
});
