import assert from 'node:assert/strict';
import { describe, it, type TestContext, test } from 'node:test';
import { mergeCpuWindows } from '../../../plugin/result/cpu/assemble-cpu.ts';
import { limitLostMembers } from '../../../plugin/run/broadcasts/read-ledger.ts';
import { uncertainOwnMembers } from '../../../plugin/run/receivers/members-without-own-clients.ts';
import type { ReferenceReceipts } from '../../../plugin/run/receivers/reference-receiver.ts';
import { BroadcastWindow } from '../../helpers/broadcast-window.ts';
import { column } from '../../helpers/columns.ts';
import type { FakeRun } from '../../helpers/fake-run.ts';
import { frozenBroadcast, measurements, sent } from '../../helpers/measurements.ts';

/** A delay in ms, and the action after it. */
type Later = [ms: number, happens: () => void];

/** Actions when the last broadcast has been sent, and later actions. */
type Drain = (run: FakeRun) => Later[];

const trickle =
  (count: number): Drain =>
  ({ status }) =>
    Array.from({ length: count }, (_, index) => [(index + 1) * 800, () => status.received++]);

/** Returns a drain in which all but `missing` first copies have arrived. `late` more copies arrive after 3.5 s. */
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

/**
 * Returns a drain in which a host with four members is lost after 2 s. Of its 16 copies, `known` were counted, and
 * `late` copies of other hosts follow.
 */
const lostHost =
  (known: number, late = 0): Drain =>
  (run) => [[2000, () => run.lose(4, known)], ...outstanding(16 - known + late, late)(run)];

const duplicate: Drain = ({ status }) => {
  status.reached--;
  return [[500, () => status.received++]];
};

/** Expected seconds from the last broadcast until one quiet second, or until the deadline of five seconds. */
const DRAINS: [what: string, drain: Drain, seconds: number][] = [
  ['ends when no copy has arrived for the quiet time', trickle(3), 2.4 + 1],
  ['ends at its deadline while receipts still arrive', trickle(20), 5],
  ['ends once an outstanding copy arrives', outstanding(1, 1), 3.5 + 1],
  ['does not count a duplicate as an outstanding copy', duplicate, 5],
  ['does not wait for a lost host with all copies', lostHost(0), 2],
  ['does not wait for a lost host with some copies', lostHost(10), 2],
  ['waits for copies of other hosts when one is lost', lostHost(10, 5), 3.5 + 1],
];

describe('the drain', () => {
  for (const [what, drain, seconds] of DRAINS) {
    it(`the drain ${what}`, async (t) => {
      const window = new BroadcastWindow(t);
      await window.measure(() => {
        for (const [ms, happens] of drain(window.run)) setTimeout(happens, ms);
      });
      assert.ok(window.drainSeconds >= seconds && window.drainSeconds < seconds + 0.2, `${window.drainSeconds} s`);
    });
  }

  it('the CPU window of the broadcasts includes the copies received in the drain', async (t) => {
    const window = new BroadcastWindow(t);
    const { status } = window.run;
    const { cpu } = await window.measure(() => setTimeout(() => (status.received += 3), 800));
    assert.equal(mergeCpuWindows(cpu.broadcasts)?.units, 43);
  });

  it('the drain expects no copy of a probe that disconnected before the broadcasts', async (t) => {
    const window = new BroadcastWindow(t);
    window.run.measurements.probeLeftAtUs = 1;
    window.context.probe.leftAtUs = 1;
    await window.measure();
    assert.ok(window.drainSeconds >= 5, 'the server counts one member more than the fleet');
    assert.deepEqual(window.run.codes, []);
  });

  it('the drain waits for round trips of broadcasts if there is no ledger', async (t) => {
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

describe('the reference receiver', () => {
  const seen = (changes: Partial<ReferenceReceipts> = {}): ReferenceReceipts => ({
    ...{ worker: 'w0', joinedAtUs: 1, leftAtUs: undefined, receivedAtUs: new Map([[1, 2]]) },
    ...changes,
  });
  type Join = (window: BroadcastWindow) => Promise<ReferenceReceipts>;
  const measured = async (t: TestContext, join: Join) => {
    const window = new BroadcastWindow(t);
    window.context.sentinel = { connected: true, join: () => join(window) };
    await window.measure();
    return window.run;
  };

  it('the reference receiver joins the room before the first broadcast', async (t) => {
    const run = await measured(t, async ({ run }) => {
      assert.equal(run.measurements.sent.length, 0);
      return seen();
    });
    assert.deepEqual([run.measurements.sentinel, run.codes], [seen(), []]);
  });

  const MISSING: [what: string, join: Join, message: RegExp][] = [
    ['cannot join', () => Promise.reject(new Error('no answer')), /no answer/],
    ['disconnects during the broadcasts', async () => seen({ leftAtUs: 5 }), /ended/],
    ['receives none of the broadcasts', async () => seen({ receivedAtUs: new Map() }), /none of 4/],
  ];
  for (const [what, join, message] of MISSING) {
    it(`reports a reference receiver that ${what}`, async (t) => {
      const { codes, noticed } = await measured(t, join);
      assert.deepEqual(codes, ['PROBE_INCOMPLETE']);
      assert.match(noticed[0]?.message ?? '', message);
    });
  }

  it('reports no missing reference receiver in a stopped run', async (t) => {
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

/**
 * A broadcast is ordered at 100, sent at 300, and received by the reference receiver at 301. Expected: how many own
 * receivers the server may have counted, or not counted.
 */
const OWN: [what: string, left: Left, before: number, after: number][] = [
  ['stay connected', {}, 0, 0],
  ['disconnected before the order', { probeLeftAtUs: 99, sentinelLeftAtUs: 99 }, 0, 0],
  ['disconnect before the send and may have been counted', { probeLeftAtUs: 100, sentinelLeftAtUs: 299 }, 2, 0],
  [
    'disconnect before the send in another room',
    { probeLeftAtUs: 200, sentinelLeftAtUs: 200, room: 'capacity:1' },
    0,
    0,
  ],
  ['disconnect after the send and may not have been counted', { probeLeftAtUs: 310 }, 0, 1],
  ['disconnect after the send, with an earlier copy', { probeLeftAtUs: 310, probeReceivedAtUs: 50 }, 0, 1],
  [
    'disconnect after they received the copy',
    { probeLeftAtUs: 310, probeReceivedAtUs: 305, sentinelLeftAtUs: 310 },
    0,
    0,
  ],
];
for (const [what, left, before, after] of OWN) {
  it(`the expected copies allow for the run’s own receivers that ${what}`, () => {
    const { room = 'capacity', probeLeftAtUs, probeReceivedAtUs, sentinelLeftAtUs: leftAtUs } = left;
    const receivedAtUs = new Map([50, 301].map((us, index) => [index + 1, us]));
    const sentinel = { worker: 'w0', joinedAtUs: 1, leftAtUs, receivedAtUs };
    const receivers = { receiversRoom: 'capacity', probeLeftAtUs, probeReceivedAtUs, sentinel };
    const broadcast = { expected: 10, room, orderedAtUs: 100, sentAtUs: 300 };
    assert.deepEqual(uncertainOwnMembers(broadcast, receivers), { before, after });
  });
}

const here = (seq: number) => frozenBroadcast(seq, [10, 20, 30]);
/** Returns the row of a lost host with `connections` connections. */
const lostRow = (seq: number, connections: number) =>
  frozenBroadcast(seq, [], { expected: connections, lostDisconnected: connections, assumed: true });

/** Rows, the server's member count for each broadcast, and the expected receivers in each row. */
const LOST: [what: string, rows: ReturnType<typeof here>[], counted: (number | null)[], expected: number[]][] = [
  ['left before a broadcast: none', [here(1), lostRow(1, 5), here(2), lostRow(2, 5)], [8, 3], [3, 5, 3, 0]],
  ['are in several rooms: a part', [here(1), lostRow(1, 50)], [13], [3, 10]],
  ['belong to several engines: as many as counted', [lostRow(1, 5), here(1), lostRow(1, 5)], [10], [5, 3, 2]],
  ['are not all members: all if other connections joined the room', [here(1), lostRow(1, 5)], [20], [3, 5]],
  ['have no count: all, as they may be members', [here(1), lostRow(1, 5)], [null], [3, 5]],
];
for (const [what, rows, counted, expected] of LOST) {
  test(`the run expects copies at connections of a lost host that ${what}`, () => {
    // Adds one to the count, because the probe is also a member.
    const broadcasts = counted.map((count, index) => ({ ...sent(index + 1, 0), expected: count && count + 1 }));
    const bounded = limitLostMembers(rows, measurements({ sent: broadcasts, receiversRoom: 'capacity' }));
    assert.deepEqual(column(bounded, 'expected'), expected);
    for (const row of bounded) assert.equal(row.expected, row.received + row.lostDisconnected);
  });
}
