/** What ends with the last broadcast: the wait for its receipts, and the sentinel's membership. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { wholeWindow } from '../../../plugin/result/cpu/cpu.ts';
import type { SentinelReceipts } from '../../../plugin/run/receivers/sentinel.ts';
import { BroadcastWindow } from '../../helpers/broadcast-window.ts';

describe('the drain', () => {
  /** Receipts that come every `everyMs` from the last broadcast on, `count` times. */
  function trickle(everyMs: number, count: number, arrive: () => void): () => void {
    return () => {
      for (let index = 1; index <= count; index++) setTimeout(arrive, index * everyMs);
    };
  }

  it('ends when nothing has come for a while', async (t) => {
    const window = new BroadcastWindow(t);
    const { status } = window.run;
    const { cpu } = await window.measure(trickle(800, 3, () => status.received++));
    assert.ok(window.drainSeconds >= 2.4 + 1 && window.drainSeconds < 3.6, `${window.drainSeconds} s`);
    assert.equal(wholeWindow(cpu.broadcasts)?.units, 43);
  });

  it('ends at its deadline while receipts still come', async (t) => {
    const window = new BroadcastWindow(t);
    const { status } = window.run;
    await window.measure(trickle(800, 20, () => status.received++));
    assert.ok(window.drainSeconds >= 5 && window.drainSeconds < 5.2, `${window.drainSeconds} s`);
  });

  it('waits for a copy that is outstanding, and no longer', async (t) => {
    const window = new BroadcastWindow(t);
    const { status } = window.run;
    const arrive = () => {
      status.received++;
      status.reached++;
    };
    await window.measure(() => {
      status.received--;
      status.reached--;
      setTimeout(arrive, 3500);
    });
    assert.ok(window.drainSeconds >= 3.5 + 1 && window.drainSeconds < 4.7, `${window.drainSeconds} s`);
  });

  // What the host had reported of its 16 copies, and what comes to the others late.
  for (const [reached, late, seconds] of [
    [0, 0, 2],
    [10, 0, 2],
    [10, 5, 3.5 + 1],
  ] as const) {
    const until = late > 0 ? 'until the other hosts have all' : 'no more';
    it(`waits ${until} when a host is lost of which ${reached} copies are known`, async (t) => {
      const window = new BroadcastWindow(t);
      const { run } = window;
      const { status } = run;
      await window.measure(() => {
        status.reached -= 4 * 4 - reached + late;
        setTimeout(() => run.lose(4, reached), 2000);
        setTimeout(() => {
          status.received += late;
          status.reached += late;
        }, 3500);
      });
      assert.ok(window.drainSeconds >= seconds && window.drainSeconds < seconds + 0.2, `${window.drainSeconds} s`);
    });
  }

  it('takes no duplicate for a copy that is outstanding', async (t) => {
    const window = new BroadcastWindow(t);
    const { status } = window.run;
    await window.measure(() => {
      status.reached--;
      setTimeout(() => status.received++, 500);
    });
    assert.ok(window.drainSeconds >= 5 && window.drainSeconds < 5.2, `${window.drainSeconds} s`);
  });

  it('expects nothing of a probe that had gone before the broadcasts', async (t) => {
    const window = new BroadcastWindow(t);
    window.run.measurements.probeLeftAtUs = 1;
    window.context.probe.leftAtUs = 1;
    await window.measure();
    assert.ok(window.drainSeconds >= 5, 'the server counts one member more than the fleet');
    assert.deepEqual(window.run.codes, []);
  });

  it('goes by the round trips where there is no ledger', async (t) => {
    const window = new BroadcastWindow(t);
    window.context.ledger = false;
    const { probe } = window.context;
    const echo = { seq: 1, roundTripUs: 5, sentAtUs: 0, receivedAtUs: 2, acknowledgedAtUs: 9 };
    await window.measure(trickle(800, 3, () => probe.onRoundTrip(echo)));
    assert.ok(window.drainSeconds >= 2.4 + 1 && window.drainSeconds < 3.6, `${window.drainSeconds} s`);
  });
});

describe('the sentinel', () => {
  const seen = (leftAtUs?: number): SentinelReceipts => ({
    worker: 'w0',
    joinedAtUs: 1,
    leftAtUs,
    receivedAtUs: new Map([[1, 2]]),
  });

  it('joins the room before the first broadcast', async (t) => {
    const window = new BroadcastWindow(t);
    const rooms: string[] = [];
    window.context.sentinel = {
      connected: true,
      join: async (room) => {
        rooms.push(room);
        assert.equal(window.run.measurements.sent.length, 0);
        return seen();
      },
    };
    const { sentinel } = await window.measure();
    assert.deepEqual(rooms, ['capacity']);
    assert.deepEqual(sentinel, seen());
    assert.deepEqual(window.run.codes, []);
    assert.ok(window.run.recorded.includes('sentinel'));
  });

  it('that cannot join is missing', async (t) => {
    const refused = new BroadcastWindow(t);
    refused.context.sentinel = { connected: true, join: () => Promise.reject(new Error('no answer')) };
    assert.equal((await refused.measure()).sentinel, undefined);
    assert.deepEqual(refused.run.codes, ['PROBE_INCOMPLETE']);
    assert.match(refused.run.measurements.warnings[0]?.message ?? '', /could not join: no answer/);
  });

  it('that leaves during the broadcasts is missing, too', async (t) => {
    const window = new BroadcastWindow(t);
    window.context.sentinel = { connected: true, join: async () => seen(5) };
    await window.measure();
    assert.deepEqual(window.run.codes, ['PROBE_INCOMPLETE']);
    assert.match(window.run.measurements.warnings[0]?.message ?? '', /ended during the broadcasts/);
  });

  it('that gets none of the broadcasts is missing, too', async (t) => {
    const window = new BroadcastWindow(t);
    const none = { ...seen(), receivedAtUs: new Map<number, number>() };
    window.context.sentinel = { connected: true, join: async () => none };
    await window.measure();
    assert.deepEqual(window.run.codes, ['PROBE_INCOMPLETE']);
    assert.match(window.run.measurements.warnings[0]?.message ?? '', /received none of 4 broadcasts/);
  });

  it('is missed by nobody in a run that is stopped', async (t) => {
    const window = new BroadcastWindow(t);
    window.context.sentinel = {
      connected: true,
      join: () => {
        window.run.stop.abort();
        return Promise.reject(new Error('stopped'));
      },
    };
    await window.measure();
    assert.deepEqual([window.run.codes, window.run.measurements.sent], [[], []]);
  });
});
