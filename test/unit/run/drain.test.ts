/** What ends with the last broadcast: the wait for its receipts; and who is a member beside those that the ledgers know. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext, test } from 'node:test';
import { wholeWindow } from '../../../plugin/result/cpu/assemble-cpu.ts';
import { withLostMembers } from '../../../plugin/run/broadcasts/read-ledger.ts';
import { uncertainMembers } from '../../../plugin/run/receivers/load-receivers.ts';
import type { SentinelReceipts } from '../../../plugin/run/receivers/sentinel.ts';
import { BroadcastWindow } from '../../helpers/broadcast-window.ts';
import { column } from '../../helpers/columns.ts';
import type { FakeRun } from '../../helpers/fake-run.ts';
import { frozenBroadcast, measurements, sent } from '../../helpers/measurements.ts';

/** A time-out in ms, and what comes then. */
type Later = [ms: number, happens: () => void];

/** At once when the last broadcast is out, and later. */
type Drain = (run: FakeRun) => Later[];

const trickle =
  (count: number): Drain =>
  ({ status }) =>
    Array.from({ length: count }, (_, index) => [(index + 1) * 800, () => status.received++]);

/** All but `missing` first copies have come; `late` more come after 3.5 s. */
const outstanding =
  (missing: number, late: number): Drain =>
  ({ status }) => {
    status.reached -= missing;
    status.received -= missing;
    const arrive = () => {
      status.reached += late;
      status.received += late;
    };
    return [[3500, arrive]];
  };

/** A host with four members is gone after 2 s; of its 16 copies, so many were known, and of other hosts' some come later. */
const lostHost =
  (known: number, late = 0): Drain =>
  (run) => [[2000, () => run.lose(4, known)], ...outstanding(16 - known + late, late)(run)];

const duplicate: Drain = ({ status }) => {
  status.reached--;
  return [[500, () => status.received++]];
};

/** Seconds from the last broadcast on; all has been quiet for one, or the deadline of five has come. */
const DRAINS: [what: string, drain: Drain, seconds: number][] = [
  ['ends when nothing has come for a while', trickle(3), 2.4 + 1],
  ['ends at its deadline while receipts still come', trickle(20), 5],
  ['waits for a copy that is outstanding, and no longer', outstanding(1, 1), 3.5 + 1],
  ['takes no duplicate for a copy that is outstanding', duplicate, 5],
  ['waits no more for a host that is lost with all copies', lostHost(0), 2],
  ['waits no more for a host that is lost with some', lostHost(10), 2],
  ['waits until other hosts have theirs, when one is lost', lostHost(10, 5), 3.5 + 1],
];

describe('the drain', () => {
  for (const [what, drain, seconds] of DRAINS) {
    it(what, async (t) => {
      const window = new BroadcastWindow(t);
      await window.measure(() => {
        for (const [ms, happens] of drain(window.run)) setTimeout(happens, ms);
      });
      assert.ok(window.drainSeconds >= seconds && window.drainSeconds < seconds + 0.2, `${window.drainSeconds} s`);
    });
  }

  it('is in the CPU of the window, with its receipts', async (t) => {
    const window = new BroadcastWindow(t);
    const { status } = window.run;
    const { cpu } = await window.measure(() => setTimeout(() => (status.received += 3), 800));
    assert.equal(wholeWindow(cpu.broadcasts)?.units, 43);
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
    await window.measure(() => {
      for (const ms of [800, 1600, 2400]) setTimeout(() => probe.onRoundTrip(echo), ms);
    });
    assert.ok(window.drainSeconds >= 2.4 + 1 && window.drainSeconds < 3.6, `${window.drainSeconds} s`);
  });
});

describe('the sentinel', () => {
  const seen = (changes: Partial<SentinelReceipts> = {}): SentinelReceipts => ({
    ...{ worker: 'w0', joinedAtUs: 1, leftAtUs: undefined, receivedAtUs: new Map([[1, 2]]) },
    ...changes,
  });
  type Join = (window: BroadcastWindow) => Promise<SentinelReceipts>;
  const measured = async (t: TestContext, join: Join) => {
    const window = new BroadcastWindow(t);
    window.context.sentinel = { connected: true, join: () => join(window) };
    await window.measure();
    return window.run;
  };

  it('joins the room before the first broadcast', async (t) => {
    const run = await measured(t, async ({ run }) => {
      assert.equal(run.measurements.sent.length, 0);
      return seen();
    });
    assert.deepEqual([run.measurements.sentinel, run.codes], [seen(), []]);
  });

  const MISSING: [what: string, join: Join, message: RegExp][] = [
    ['cannot join', () => Promise.reject(new Error('no answer')), /no answer/],
    ['leaves during the broadcasts', async () => seen({ leftAtUs: 5 }), /ended/],
    ['gets none of the broadcasts', async () => seen({ receivedAtUs: new Map() }), /none of 4/],
  ];
  for (const [what, join, message] of MISSING) {
    it(`that ${what} is missing`, async (t) => {
      const { codes, noticed } = await measured(t, join);
      assert.deepEqual(codes, ['PROBE_INCOMPLETE']);
      assert.match(noticed[0]?.message ?? '', message);
    });
  }

  it('is not reported as missing in a stopped run', async (t) => {
    const { codes, measurements } = await measured(t, ({ run }) => {
      run.stop.abort();
      return Promise.reject(new Error('stopped'));
    });
    assert.deepEqual([codes, measurements.sent], [[], []]);
  });
});

interface Left {
  probeLeftAtUs?: number;
  probeReceivedAtUs?: number;
  sentinelLeftAtUs?: number;
  room?: string;
}

/** A broadcast is ordered at 100 and sent at 300; the sentinel gets it at 301. How many may be counted beside the members. */
const OWN: [what: string, left: Left, before: number, after: number][] = [
  ['stay', {}, 0, 0],
  ['ended before the order', { probeLeftAtUs: 99, sentinelLeftAtUs: 99 }, 0, 0],
  ['end between the order and the send: may have been counted', { probeLeftAtUs: 100, sentinelLeftAtUs: 299 }, 2, 0],
  ['end then, and are in another room', { probeLeftAtUs: 200, sentinelLeftAtUs: 200, room: 'capacity:1' }, 0, 0],
  ['end after the send: may not have been counted', { probeLeftAtUs: 310 }, 0, 1],
  ['end after the send, with an earlier copy', { probeLeftAtUs: 310, probeReceivedAtUs: 50 }, 0, 1],
  ['end after the send, with the copy', { probeLeftAtUs: 310, probeReceivedAtUs: 305, sentinelLeftAtUs: 310 }, 0, 0],
];
for (const [what, left, before, after] of OWN) {
  it(`own receivers that ${what}`, () => {
    const { room = 'capacity', probeLeftAtUs, probeReceivedAtUs, sentinelLeftAtUs: leftAtUs } = left;
    const receivedAtUs = new Map([50, 301].map((us, index) => [index + 1, us]));
    const sentinel = { worker: 'w0', joinedAtUs: 1, leftAtUs, receivedAtUs };
    const receivers = { receiversRoom: 'capacity', probeLeftAtUs, probeReceivedAtUs, sentinel };
    const broadcast = { expected: 10, room, orderedAtUs: 100, sentAtUs: 300 };
    assert.deepEqual(uncertainMembers(broadcast, receivers), { before, after });
  });
}

const here = (seq: number) => frozenBroadcast(seq, [10, 20, 30]);
/** Of a host that is gone, and had so many connections. */
const gone = (seq: number, connections: number) =>
  frozenBroadcast(seq, [], { expected: connections, lostDisconnected: connections, assumed: true });

/** Rows, members that the server counted for each broadcast, and what is expected in each row. */
const LOST: [what: string, rows: ReturnType<typeof here>[], counted: (number | null)[], expected: number[]][] = [
  ['left before a broadcast: no member of it', [here(1), gone(1, 5), here(2), gone(2, 5)], [8, 3], [3, 5, 3, 0]],
  ['are in several rooms: not all are members', [here(1), gone(1, 50)], [13], [3, 10]],
  ['are of several engines: together as many as counted', [gone(1, 5), here(1), gone(1, 5)], [10], [5, 3, 2]],
  ['are not all members: others joined the room', [here(1), gone(1, 5)], [20], [3, 5]],
  ['were counted by nobody: all may be members', [here(1), gone(1, 5)], [null], [3, 5]],
];
for (const [what, rows, counted, expected] of LOST) {
  test(`connections of a lost host ${what}`, () => {
    // The probe is a member, too.
    const broadcasts = counted.map((count, index) => ({ ...sent(index + 1, 0), expected: count && count + 1 }));
    const bounded = withLostMembers(rows, measurements({ sent: broadcasts, receiversRoom: 'capacity' }));
    assert.deepEqual(column(bounded, 'expected'), expected);
    for (const row of bounded) assert.equal(row.expected, row.received + row.lostDisconnected);
  });
}
