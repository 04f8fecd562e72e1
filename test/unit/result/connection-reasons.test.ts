import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { connectionFigures } from '../../../plugin/result/connections/connections.ts';
import { connectionProblems } from '../../../plugin/result/reasons/connections.ts';
import type { EngineSnapshot } from '../../../plugin/run/link.ts';
import type { Measurements } from '../../../plugin/run/measurements/measurements.ts';
import type { ConnectionAccounts } from '../../../protocol/link/snapshot.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { encoded, measurements, snapshot } from '../../helpers/measurements.ts';
import { perfectResult } from '../../helpers/results.ts';

const ACCOUNTS: ConnectionAccounts = { asked: 600, pending: 0, alive: 600, failed: {}, ended: {}, returned: 0 };
const PROCESS = { pid: 1, index: 0, alive: true, answers: true, connections: 600, rssBytes: 0, cpuUs: 0 };
const eventLoop = { utilization: 0, delayP50Ms: 0, delayP99Ms: 0, delayMaxMs: 0, cpuWaitShare: 0 };

function openedAtOnce(connections: number): EngineSnapshot['connecting'] {
  const { connecting } = snapshot();
  return { ...connecting, opened: { ...connecting.opened, counts: [connections] } };
}

/** A run of 600 virtual users that stay. */
function evaluated(
  accounts: Partial<ConnectionAccounts>,
  failures = {},
  changes: Partial<Measurements> = {},
  connected?: number,
  followed: Partial<Result> = {},
  carried: Partial<EngineSnapshot> = {},
) {
  const all = { ...ACCOUNTS, ...accounts };
  const processes = [{ ...PROCESS, eventLoop }];
  const opened = all.alive + Object.values(all.ended).reduce((total, count) => total + count, 0);
  const one = snapshot({
    accounts: all,
    failures,
    connected: connected ?? all.alive,
    processes,
    transports: { websocket: opened, upgraded: 0, polling: 0 },
    connecting: openedAtOnce(opened),
    ...carried,
  });
  const measured = measurements({
    targetConnections: 600,
    expectedAtOnce: 600,
    peakConnections: 600,
    snapshots: [one],
    ...changes,
  });
  const connections = connectionFigures(measured);
  const reasons = [...connectionProblems(measured, { ...perfectResult(), ...followed, connections })];
  return { connections, codes: reasons.map(({ code }) => code), messages: reasons.map(({ message }) => message) };
}

it('connections whose time of opening nobody has, or that no host had, are a bug of the generator', () => {
  assert.deepEqual(evaluated({}, {}, {}, 600, {}, { connecting: openedAtOnce(599) }).codes, ['ACCOUNTS_MISMATCH']);
  const row = { connections: 300, held: 300 } as Result['generators'][number];
  assert.deepEqual(evaluated({}, {}, {}, 600, { generators: [row, row] }).codes, []);
  assert.deepEqual(evaluated({}, {}, {}, 600, { generators: [row] }).codes, ['ACCOUNTS_MISMATCH']);
});

describe('connections that are lost', () => {
  it('as namespaces of connections that stay, are in the verdict and held', () => {
    const failures = { disconnected_io_server_disconnect: 75 };
    const { connections, codes, messages } = evaluated({}, failures);
    assert.deepEqual([connections.held, connections.lost], [600, {}]);
    assert.deepEqual(codes, ['CONNECTIONS_LOST']);
    assert.match(messages[0] ?? '', /^75 virtual users lost a namespace, while their connections stayed/);
  });

  it('while idle, with a proxy worker, are in the verdict and not held', () => {
    const lost = { 'transport close': 300, 'ping timeout': 6 };
    const failures = { disconnected_transport_close: 300, disconnected_ping_timeout: 6 };
    const { connections, codes, messages } = evaluated({ alive: 294, ended: lost }, failures);
    assert.deepEqual([connections.asked, connections.opened, connections.held], [600, 600, 294]);
    assert.deepEqual(connections.lost, lost);
    assert.equal(connections.failed, 306);
    assert.deepEqual(codes, ['CONNECTIONS_LOST']);
    assert.match(messages[0] ?? '', /^306 of 600 opened .*transport close 300, ping timeout 6; 294 were alive/);
  });

  it('are dated by the samples, until they are released', () => {
    const counts = [0, 600, 598, 304, 294, 0];
    const followed = {
      samples: counts.map((connections, t) => ({ t, connections })),
      stages: [
        { name: 'ramp', t: 0 },
        { name: 'hold', t: 1.5 },
        { name: 'disconnect', t: 4.5 },
      ],
    };
    const { messages } = evaluated({ alive: 294, ended: { 'transport close': 306 } }, {}, {}, undefined, followed);
    assert.match(messages[0] ?? '', /; most left at 3 s, in stage `hold`$/);
  });

  it('are not those that their virtual users have closed', () => {
    const { connections, codes } = evaluated(
      { alive: 0, ended: { 'io client disconnect': 600 } },
      {},
      { expectedAtOnce: null },
    );
    assert.deepEqual([connections.opened, connections.held, connections.lost], [600, null, {}]);
    assert.deepEqual(codes, []);
  });

  it('stand apart from those that were never made', () => {
    const { connections, codes, messages } = evaluated(
      { alive: 560, failed: { http_502: 10 }, ended: { 'io server disconnect': 30 } },
      { http_502: 10, disconnected_io_server_disconnect: 30 },
      { peakConnections: 590 },
    );
    assert.deepEqual([connections.asked, connections.opened, connections.held], [600, 590, 560]);
    assert.deepEqual(codes, ['CONNECTIONS_FAILED', 'CONNECTIONS_LOST', 'TARGET_NOT_REACHED']);
    assert.match(messages[0] ?? '', /^10 of 600 connections failed: http_502 10$/);
    assert.match(messages[2] ?? '', /^at most 590 of 600/);
  });
});

describe('connections that come back', () => {
  const returns = { dropped: 310, returned: 305, recovered: 205, gaveUp: 5, left: 0, away: 0, retries: 12 };
  const awayUs = encoded([...Array<number>(300).fill(1_000_000), ...Array<number>(5).fill(4_000_000)]);

  it('are named with the time that they were away and their sessions; those that stay away are lost', () => {
    const ended = { 'transport close': 5 };
    const changes = { returns: { ...returns, awayUs } };
    const { connections, codes, messages } = evaluated({ alive: 595, ended, returned: 305 }, {}, {}, 595, {}, changes);
    assert.deepEqual(codes, ['CONNECTIONS_LOST', 'CONNECTIONS_DROPPED']);
    assert.match(messages[1] ?? '', /^305 times .* after 1\.0 s \(median, 99 %: 4\.0 s, longest: 4\.0 s\)/);
    assert.match(messages[1] ?? '', /restored the sessions of 205, and 100 have new ones$/);
    const { awayMs, ...counts } = connections.reconnection ?? {};
    assert.deepEqual(counts, { dropped: 310, returned: 305, recovered: 205, gaveUp: 5, left: 0, away: 0 });
    assert.equal(awayMs?.count, 305);
    assert.equal(connections.opened, 600, 'a connection that comes back is no other one');
    assert.equal(evaluated({}).connections.reconnection, null);
  });

  it('invalidate the run where the counts do not foot', () => {
    const foots = { returns: { ...returns, awayUs } };
    const misses = { returns: { ...returns, gaveUp: 4, awayUs } };
    const codesOf = (returned: number, changes: Partial<EngineSnapshot>) =>
      evaluated({ returned }, {}, {}, 600, {}, changes).codes;
    assert.deepEqual(codesOf(305, foots), ['CONNECTIONS_DROPPED']);
    assert.deepEqual(codesOf(304, foots), ['CONNECTIONS_DROPPED', 'ACCOUNTS_MISMATCH']);
    assert.deepEqual(codesOf(305, misses), ['CONNECTIONS_DROPPED', 'ACCOUNTS_MISMATCH']);
  });
});

describe('a peak below the target', () => {
  it('is a reason of its own, whatever the failures say', () => {
    assert.deepEqual(evaluated({ alive: 583 }, {}, { peakConnections: 583 }).codes, ['TARGET_NOT_REACHED']);
  });

  it('is none where virtual users leave by themselves, or the run was stopped', () => {
    assert.deepEqual(evaluated({}, {}, { peakConnections: 40, expectedAtOnce: null }).codes, []);
    const aborted = { code: 'RUN_INCOMPLETE', message: 'stopped' } as const;
    assert.deepEqual(evaluated({}, {}, { peakConnections: 40, aborted }).codes, []);
  });
});

describe('workers', () => {
  const one = [{ worker: 'w0', pid: 1 }];
  const held = (
    perWorker: Record<string, number>,
    perSessionPrefix: Record<string, number>,
    { workersAtStart, recovered } = { workersAtStart: one, recovered: 0 },
  ) => {
    const transports = { websocket: 600, upgraded: 0, polling: 0 };
    const counts = { connected: 600, returns: { ...snapshot().returns, recovered }, perWorker, perSessionPrefix };
    const snapshots = [snapshot({ accounts: ACCOUNTS, transports, ...counts })];
    const measured = measurements({ expectedAtOnce: 600, peakConnections: 600, snapshots, workersAtStart });
    const connections = connectionFigures(measured);
    const codes = [...connectionProblems(measured, { ...perfectResult(), connections })].map(({ code }) => code);
    return { perWorker: connections.perWorker, codes };
  };

  it('that joins name and no control knows invalidate the run', () => {
    const { perWorker, codes } = held({ w0: 300, w1: 300 }, {});
    assert.deepEqual([perWorker, codes], [{ w0: 300, w1: 300 }, ['WORKER_UNKNOWN']]);
  });

  it('are not made up of the session ids of other servers', () => {
    assert.deepEqual(held({}, { w0: 590, x7: 4, q: 6 }), { perWorker: { w0: 590 }, codes: [] });
  });

  it('are counted as far as they are known of all connections, also of restored sessions, which do not join again', () => {
    const two = [...one, { worker: 'w1', pid: 2 }];
    const counted = (named: Record<string, number>, workersAtStart: typeof one, sessions = {}) =>
      held(named, sessions, { workersAtStart, recovered: 200 }).perWorker;
    assert.deepEqual(counted({ w0: 19 }, one), { w0: 600 }, 'the only worker has all of them');
    assert.deepEqual(counted({ w0: 19 }, two), {});
    assert.deepEqual(counted({ w0: 300, w1: 100 }, two, { w1: 200 }), { w0: 300, w1: 300 });
    assert.deepEqual(counted({ w1: 19 }, one), {}, 'a worker that no control knows');
  });
});

describe('two counts of the same connections', () => {
  it('that differ invalidate the run', () => {
    assert.deepEqual(evaluated({}, {}, {}, 599).codes, ['ACCOUNTS_MISMATCH']);
  });

  it('are not compared where a process did not answer', () => {
    const measured = measurements({ expectedAtOnce: null, peakConnections: 1 });
    const processes = [{ ...PROCESS, eventLoop, answers: false }];
    measured.snapshots = [snapshot({ accounts: ACCOUNTS, connected: 300, processes })];
    const connections = connectionFigures(measured);
    assert.deepEqual([...connectionProblems(measured, { ...perfectResult(), connections })], []);
  });
});

describe('transports', () => {
  const carried = (transports: EngineSnapshot['transports'], upgradeFailures = {}) =>
    evaluated({}, {}, { transports: 'default' }, undefined, {}, { transports, upgradeFailures });

  it('are counted: opened = websocket + upgraded + polling', () => {
    const { connections, codes } = carried({ websocket: 0, upgraded: 600, polling: 0 });
    assert.deepEqual(connections.transports, {
      configured: 'default',
      websocket: 0,
      upgraded: 600,
      polling: 0,
      upgradeFailures: {},
    });
    assert.deepEqual(codes, []);
    assert.deepEqual(carried({ websocket: 0, upgraded: 599, polling: 0 }).codes, ['TRANSPORTS_MISMATCH']);
  });

  it('that did not upgrade are named with their causes', () => {
    const { codes, messages } = carried({ websocket: 0, upgraded: 590, polling: 10 }, { http_400: 9, timeout_open: 1 });
    assert.deepEqual(codes, ['NOT_UPGRADED']);
    assert.equal(messages[0], '10 of 600 opened connections stayed on polling: http_400 9, timeout_open 1');
    assert.match(
      carried({ websocket: 0, upgraded: 0, polling: 600 }).messages[0] ?? '',
      /the server did not offer it$/,
    );
  });

  it('of clients that only poll, or of another engine, raise nothing', () => {
    const polling = { transports: { websocket: 0, upgraded: 0, polling: 600 } };
    assert.deepEqual(evaluated({}, {}, { transports: 'polling' }, undefined, {}, polling).codes, []);
    assert.equal(evaluated({}, {}, { engine: 'socketio' }).connections.transports, null);
  });
});

describe('what makes no connection fail', () => {
  it('are arrivals that Artillery skipped, and acknowledgements of nothing: both are in the verdict', () => {
    const measured = measurements({
      peakConnections: 10,
      skippedUsers: 6,
      snapshots: [snapshot({ unknownAcks: 3 }), snapshot({ unknownAcks: 2 })],
    });
    const connections = connectionFigures(measured);
    assert.deepEqual([connections.skipped, connections.unknownAcks, connections.failed], [6, 5, 0]);
    const reasons = [...connectionProblems(measured, { ...perfectResult(), connections })];
    assert.deepEqual(
      reasons.map(({ code, message }) => [code, Number.parseInt(message.replace(/\D*/, ''), 10)]),
      [
        ['USERS_SKIPPED', 6],
        ['UNKNOWN_ACKS', 5],
      ],
    );
  });
});
