import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newOwnEvent } from '../../../plugin/run/measurements/own-event-measured.ts';
import type { ProbeEcho } from '../../../plugin/run/receivers/round-trip-probe.ts';
import { FINDINGS } from '../../../protocol/codes/finding-codes.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { leadingFindings } from '../../../report/answer/answer.ts';
import { column } from '../../helpers/columns.ts';
import { finding } from '../../helpers/findings.ts';
import { sent, snapshot } from '../../helpers/measurements.ts';
import { generatorHost } from '../../helpers/results.ts';
import {
  assertNames,
  type Change,
  fleetProcesses,
  othersAccepted,
  set,
  testCases,
  verdictOf,
  WORKER,
} from '../../helpers/verdict.ts';

const STOPPED = { how: 'stopped', code: 'RUN_INCOMPLETE', message: 'stopped' } as const;
const clock = (changes: object) => ({
  ...{ worker: 'w0', offsetUs: 9e9, uncertaintyUs: 100, driftUs: 0, jumpUs: 0 },
  ...changes,
});

/** Returns the host that generated the whole load. */
function ownHost({ connections }: Result, boundMs: number): Result['generators'][number] {
  const { opened, held } = connections;
  return { ...generatorHost('a', { share: 1, boundMs }), connections: opened, held: held ?? 0 };
}

function batch({ delivery }: Result) {
  return delivery?.batches[0] ?? assert.fail();
}

describe('the first finding', () => {
  const codesIn = (...findings: ReturnType<typeof finding>[]) => leadingFindings(findings).map(({ code }) => code);

  it('the first finding of a verdict is a stall of the server, not the saturated machine', () => {
    const late = finding('GENERATOR_LATE');
    const busy = finding('MACHINE_SATURATED', 'busy', { explains: [late.code] });
    assert.deepEqual(codesIn(busy, late, finding('WORKER_STALLED')), ['WORKER_STALLED', 'MACHINE_SATURATED']);
  });

  it('the first finding of a verdict is the finding that explains a failure', () => {
    const missed = finding('TARGET_NOT_REACHED');
    const skipped = finding('USERS_SKIPPED', 'skipped', { explains: [missed.code] });
    assert.deepEqual(codesIn(finding('WORKER_STALLED'), skipped, missed), ['USERS_SKIPPED', 'WORKER_STALLED']);
  });
});

describe('the verdict', () => {
  it('the verdict is VALID without findings, and INVALID if one of several findings is INVALID', () => {
    assert.partialDeepStrictEqual(verdictOf(), { status: 'VALID', codes: [], findings: [] });
    const swapped: Change = (r) => Object.assign(r.machine ?? {}, { swappedInBytes: 2 ** 30 });
    const disagreeing: Change = (_, f) => othersAccepted(f);
    assert.equal(verdictOf(swapped).status, 'SUSPECT');
    assert.equal(verdictOf((...run) => [swapped(...run), disagreeing(...run)]).status, 'INVALID');
  });

  it('the verdict is VALID for a deployment that fails', () => {
    const slow: Change = (r) => (r.connections.achievedRatePerSec = 1);
    assert.deepEqual([verdictOf(slow).status, verdictOf(slow).codes], ['VALID', ['RATE_NOT_REACHED']]);
  });

  it('the verdict lists failures before reasons for doubt, each finding once, with its fix', () => {
    const { findings } = verdictOf((r, f) => {
      r.connections.achievedRatePerSec = 1;
      Object.assign(r.machine ?? {}, { swappedInBytes: 2 ** 30 });
      f.observations.note('warmUpFailed', { error: 'the first', connections: 1 });
      Object.assign(r.connections, { failures: { EPIPE: 1 } });
    });
    const { remedy } = FINDINGS.CONNECTIONS_FAILED;
    assert.deepEqual(column(findings, 'code'), ['CONNECTIONS_FAILED', 'RATE_NOT_REACHED', 'SWAPPING']);
    assert.match(findings[0]?.fix ?? '', /warmUp: 0/);
    assert.ok(findings[0]?.fix.startsWith(`${remedy}; `));
    assert.match(findings[0]?.message ?? '', /EPIPE.*the first/);
    assert.equal(findings[1]?.fix, FINDINGS.RATE_NOT_REACHED.remedy);
  });

  const explained: Change = (r, f) => {
    delete r.memory.plateaus.at(-1)?.workerRss;
    othersAccepted(f);
    f.observations.note('statisticsRepeated', { when: { at: 'broadcasts' }, workers: ['w0'] });
  };
  const early: Change = (r, f) => {
    r.connections.peak = 0;
    Object.assign(f, { plateaus: [{ connections: 0, layers: {} }], aborted: STOPPED });
  };
  const unfinalized: Change = (r, f) => {
    Object.assign(f, { aborted: STOPPED, sent: [sent(1, 5000), sent(2, 5000)] });
    for (const one of r.delivery?.batches ?? []) Object.assign(one, { expected: 0, received: 0 });
    r.delivery?.batches.splice(2);
  };
  testCases([
    ['verdict without consequences of another reason', explained, 'WORKER_URLS_WRONG'],
    ['run that ended early, whose end allows no conclusion', early, 'RUN_INCOMPLETE'],
    [
      'broadcasts that were not finalized, which allow no conclusion',
      unfinalized,
      'RUN_INCOMPLETE',
      'stopped',
      '2 of 2',
    ],
  ]);

  it('the verdict leaves out consequences of a stop by the user, and keeps earlier findings', () => {
    const stop = (lost: Record<string, number>, failures: Record<string, number>) =>
      verdictOf((r, f) => {
        f.aborted = STOPPED;
        f.stoppedByUser = true;
        f.snapshots.push(snapshot({ processes: fleetProcesses([5], { alive: false, answers: false }) }));
        Object.assign(r.connections, { achievedRatePerSec: 1, configuredRatePerSec: 25 / 3, lost, failures });
      });
    const dead = { 'fleet process died': 500 };
    assert.deepEqual(stop(dead, { fleet_dead: 3 }).codes, ['RUN_INCOMPLETE']);
    const { codes, findings } = stop({ ...dead, 'transport close': 3 }, {});
    assert.deepEqual(codes, ['RUN_INCOMPLETE', 'CONNECTIONS_DROPPED']);
    assertNames(findings[1]?.message, [3, 'transport close 3']);
  });
});

describe('workers', () => {
  const [w1, w7] = [
    { worker: 'w1', pid: 11, instance: 'b' },
    { worker: 'w7', pid: 3, instance: 'c' },
  ];
  const workersAt =
    (atStart: (typeof WORKER)[], atEnd: (typeof WORKER)[]): Change =>
    (_, f) =>
      Object.assign(f, { workersAtStart: atStart, workersAtEnd: atEnd });

  const restarted = { ...WORKER, instance: 'd' };
  const named =
    (perWorker: Record<string, number>, more: Change = () => {}): Change =>
    (r, f) => [more(r, f), f.snapshots.push(snapshot({ perWorker }))];

  testCases([
    ['worker with a new process', workersAt([WORKER], [restarted]), 'PROCESS_ENDED', 'w0 restarted'],
    ['worker that is new at the end', workersAt([WORKER], [WORKER, w7]), 'PROCESS_ENDED', 'w7'],
    [
      'workers that reply alternately',
      workersAt([WORKER, w1], [w1, WORKER]),
      'WORKER_URLS_WRONG',
      'w0 to w1',
      'w1 to w0',
    ],
    ['worker unknown to the control URLs', named({ w0: 3, w9: 2 }), 'WORKER_URLS_WRONG', 'w9 2'],
    ['worker known to the control URLs', named({ w0: 3 })],
    ['workers that are all unknown to control', named({ w9: 2 }, workersAt([], []))],
    ['worker that answers for two', workersAt([WORKER, w1], [WORKER, WORKER]), 'WORKER_URLS_WRONG', 'w1 to w0'],
    [
      'workers that reply alternately and restart',
      workersAt([WORKER, w1], [w1, { ...w1, instance: 'd' }]),
      ['WORKER_URLS_WRONG', 'PROCESS_ENDED'],
    ],
  ]);
});

describe('clocks', () => {
  const known =
    (changes: object, more: Change = () => {}): Change =>
    (r, f) => [r.latency.clocks.push(clock(changes)), more(r, f)];

  const several: Change = (r) => {
    const others = [clock({ worker: 'w1', uncertaintyUs: 5000, jumpUs: 4000 }), clock({ driftUs: 30_000 })];
    r.latency.clocks.push(clock({ uncertaintyUs: 2000 }), ...others);
    r.generators.push(ownHost(r, 1.5));
  };
  const worst = ['w1', '5.00 ms', '4.00 ms', 'host a', '1.50 ms', '6.50 ms'];

  testCases([
    ['clock with a large but precisely known offset', known({ uncertaintyUs: 900 })],
    ['clock with an uncertainty of a tenth of the latencies', known({ uncertaintyUs: 1200 })],
    ['followed', known({ driftUs: 9000, jumpUs: 9000 })],
    ['clock of a worker, too uncertain', known({ uncertaintyUs: 1500 }), 'CLOCK_UNCERTAIN', 'w0', '1.50 ms', 12.5],
    ['clock of a host, uncertain', (r) => r.generators.push(ownHost(r, 1.5)), 'CLOCK_UNCERTAIN', 'host a', '1.50 ms'],
    ['several clocks too uncertain: the worst, with both ends', several, 'CLOCK_UNCERTAIN', ...worst],
    ['clock that no latency uses', known({ uncertaintyUs: 9000 }, (r) => (r.latency.from = 'publisher'))],
    ['clock in a run without latencies', known({ uncertaintyUs: 9e9 }, (r) => (r.latency.oneWayMs = null))],
  ]);
});

describe('generator hosts', () => {
  const host =
    (changes: object, more: Change = () => {}): Change =>
    (r, f) => [more(r, f), r.generators.push({ ...ownHost(r, 0), ...changes })];

  testCases([
    ['host that opened all connections', host({})],
    ['host that opened another number of connections', host({ connections: 3 }), 'ACCOUNTS_MISMATCH', 3],
    ['host that held another number of connections', host({ held: 3 }), 'ACCOUNTS_MISMATCH', 3],
    ['host that held an unknown number of connections', host({ held: 3 }, (r) => (r.connections.held = null))],
  ]);
});

it('a run that misses its number of connections because of refusals suggests no other rate', () => {
  const fixOf = (failed: number) => {
    const failures = { namespace_refused: failed };
    const { findings } = verdictOf((result, measurements) => {
      Object.assign(result.connections, { peak: 4500, failed, failures });
      Object.assign(measurements, { expectedAtOnce: 5000 });
    });
    return findings.find(({ code }) => code === 'TARGET_NOT_REACHED')?.fix ?? '';
  };
  assert.match(fixOf(499), /RATE/);
  assert.doesNotMatch(fixOf(500), /RATE/);
});

describe('the rate', () => {
  const rate = (achievedRatePerSec: number | null, configuredRatePerSec: number | null) =>
    set('connections', { achievedRatePerSec, configuredRatePerSec });
  const failing = { configuredRatePerSec: 500, asked: 5000, opened: 4000 };

  testCases([
    ['rate within 5 % of the configured one', rate(476, 500)],
    ['rate more than 5 % below the configured one', rate(474, 500), 'RATE_NOT_REACHED', '474.0 of 500.0'],
    ['rate of a few connections below the configured one', rate(1, 25 / 3), 'RATE_NOT_REACHED', '1.0 of 8.3'],
    ['unknown', rate(null, null)],
    ['rate lower because of failed connections only', set('connections', { ...failing, achievedRatePerSec: 400 })],
    [
      'rate lower than failures explain',
      set('connections', { ...failing, achievedRatePerSec: 370 }),
      'RATE_NOT_REACHED',
    ],
  ]);
});

describe('broadcasts', () => {
  const lose =
    (counts: object): Change =>
    (r) =>
      Object.assign(batch(r), { received: 4900, ...counts });
  const emptyRooms =
    (count: number): Change =>
    (r) => {
      const emptyRoom = { expected: 0, received: 0, serverMembers: 0 };
      for (const one of r.delivery?.batches.slice(0, count) ?? []) Object.assign(one, emptyRoom);
    };
  const confirmedAsFirst: Change = (_, f) =>
    Object.assign(f, { sent: [sent(1, 5), { ...sent(2, 5), confirmedAs: 1 }] });
  const early: Change = (r) => {
    Object.assign(batch(r), { early: 3, earlyByMs: 7 });
    Object.assign(r.delivery?.batches[1] ?? {}, { early: 5, earlyByMs: 9 });
  };
  const littleEarly: Change = (r, f) => {
    f.sent.push(sent(2, 5000), { ...sent(1, 5000), via: 1 });
    r.latency.clocks.push(clock({ uncertaintyUs: 0 }), clock({ worker: 'w1', uncertaintyUs: 500 }));
    Object.assign(batch(r), { early: 3, earlyByMs: 1.5 });
  };
  const roundTrip =
    (roundTripUs: number): Change =>
    (_, f) => {
      const echo = { seq: 4 } as ProbeEcho;
      f.impossibleRoundTrips = [{ load: 'single', via: 0, echo, roundTripUs, leastUs: 1000, mostUs: 2000 }];
      f.roundTripsUs = { single: [1, 2], underLoad: [3] };
    };
  const beforeTheOrder: Change = (r, f) => {
    r.latency.clocks = [{ worker: 'w0', offsetUs: 0, uncertaintyUs: 0, driftUs: 0, jumpUs: 0 }];
    f.sent = [-100_000, 400_000, 800_000].map((earlyUs, index) => {
      const one = sent(index + 1, 5);
      return { ...one, orderedAtUs: one.sentAtUs + earlyUs };
    });
  };
  const unsent: Change = (_, f) => {
    f.unsent.push({ seq: 2, message: 'no worker' }, { seq: 3, message: 'later' });
    f.sent.push(sent(1, 5));
  };
  const unknown: Change = (_, f) => {
    const times = { intendedAtUs: 1000, orderedAtUs: 900 };
    f.unknown.push({ seq: 2, message: 'no confirmation within 15.0 s', room: 'capacity', via: 0, ...times });
    f.sent.push(sent(1, 5), sent(3, 5));
  };
  const stoppedUnknown: Change = (r, f) => {
    unknown(r, f);
    f.aborted = { how: 'stopped', code: 'RUN_INCOMPLETE', message: 'stopped' };
  };
  const unconfirmed: Change = (r, f) => {
    r.latency.clocks = [{ worker: 'w0', offsetUs: 0, uncertaintyUs: 0, driftUs: 0, jumpUs: 0 }];
    // The time of the order is later than the send, because a busy run noted it late.
    const times = { sentAtUs: 9e9, orderedAtUs: 9.5e9 };
    const late = { ...sent(2, 5), unconfirmed: true as const, expected: null, ...times };
    f.sent.push(sent(1, 5), late, { ...late, seq: 3 }, sent(4, 5));
  };
  const cut: Change = (_, f) => {
    f.tailCut = { copies: 1200, unconfirmed: 3, seconds: 150 };
  };
  const severalInNone: Change = (r) => {
    for (const one of r.delivery?.batches.slice(0, 3) ?? []) Object.assign(one, { received: 1 });
  };
  const silent: Change = (r, f) => {
    Object.assign(r.delivery ?? {}, { frames: 1 });
    const processes = [...fleetProcesses([5]), ...fleetProcesses([5], { answers: false })];
    f.snapshots.push(snapshot({ processes, connected: 99 }), snapshot());
  };
  const inNoColumn = [5000, 4900, 60, 39, 4999];

  testCases([
    ['copies lost while connected', lose({ lostConnected: 100 })],
    ['copies lost while connected and disconnected', lose({ lostConnected: 60, lostDisconnected: 40 })],
    ['broadcasts in no column', lose({ lostConnected: 60, lostDisconnected: 39 }), 'ACCOUNTS_MISMATCH', ...inNoColumn],
    ['several broadcasts in no column', severalInNone, 'ACCOUNTS_MISMATCH', 'and 2 more'],
    ['broadcasts with uncounted frames', set('delivery', { frames: null })],
    ['broadcasts with unknown frames and connections of a silent process', silent, 'GENERATOR_SILENT', 1],
    ['no broadcast sent', (r) => r.delivery?.batches.splice(0)],
    ['broadcasts without a ledger', (r) => (r.delivery = null)],
    ['one broadcast to an empty room', emptyRooms(1)],
    ['all broadcasts to an empty room', emptyRooms(12), 'NO_MEMBERS', 12],
    ['broadcast unconfirmed and without copies', unknown, 'BROADCASTS_UNCONFIRMED', '1 of 3', 'no confirmation'],
    ['broadcast unconfirmed in a stopped run', stoppedUnknown, 'RUN_INCOMPLETE'],
    ['broadcast unconfirmed with copies', unconfirmed],
    ['broadcasts cut off by the end of the drain', cut, 'DRAIN_TOO_SHORT', '1,200 copies', '3 broadcasts', '150.0 s'],
    ['copies received before they were sent', early, 'IMPOSSIBLE_REPORT', '2 of 12', '5 copies', '9.00 ms'],
    ['copies received slightly before they were sent, within the clock uncertainty', littleEarly],
    ['broadcasts with too long a round trip', roundTrip(8000), 'IMPOSSIBLE_REPORT', '1 of 4', '8.00 ms', '2.00 ms'],
    ['broadcasts with a NaN round trip', roundTrip(Number.NaN), 'IMPOSSIBLE_REPORT', '1 of 4', 'no number', '2.00 ms'],
    [
      'broadcasts sent by a worker before they were ordered',
      beforeTheOrder,
      'IMPOSSIBLE_REPORT',
      '2 of 3',
      3,
      '800 ms',
    ],
    ['broadcasts not sent', unsent, 'BROADCASTS_NOT_SENT', '2 of 3', 'no worker'],
    ['broadcast confirmed by a worker with another number', confirmedAsFirst, 'IMPOSSIBLE_REPORT', '1 of 2', 'w0'],
  ]);

  it('the fix for lost broadcasts differs between the run’s broadcasts and the server’s own events', () => {
    const ownEvent = newOwnEvent('said', '$.0.id', 'run', true);
    for (const change of [emptyRooms(12), unsent]) {
      const ofOwn: Change = (r, f) => {
        Object.assign(r.delivery ?? {}, { source: 'own event' });
        Object.assign(f, { ownEvent });
        change(r, f);
      };
      const [fix, fixOfOwn] = [change, ofOwn].map((one) => verdictOf(one).findings[0]?.fix);
      assert.ok(fix && fixOfOwn && fix !== fixOfOwn, `${fix}, ${fixOfOwn}`);
    }
  });
});
