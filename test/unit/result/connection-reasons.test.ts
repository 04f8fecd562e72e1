import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { connectionFigures } from '../../../plugin/result/connections/connections.ts';
import { evaluate } from '../../../plugin/result/verdict.ts';
import type { EngineSnapshot } from '../../../plugin/run/link.ts';
import type { Measurements } from '../../../plugin/run/measurements/measurements.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { encoded, measurements, snapshot } from '../../helpers/measurements.ts';
import { plannedFault } from '../../helpers/planned-fault.ts';
import { perfectResult } from '../../helpers/results.ts';
import { assertNames, fleetProcesses } from '../../helpers/verdict.ts';

const ACCOUNTS: EngineSnapshot['accounts'] = { asked: 600, pending: 0, alive: 600, failed: {}, ended: {}, returned: 0 };

interface Changes {
  accounts?: Partial<EngineSnapshot['accounts']>;
  /** Of virtual users. */
  failures?: Record<string, number>;
  measured?: Partial<Measurements>;
  result?: Partial<Result>;
  snapshot?: Partial<EngineSnapshot>;
}

/** A run of 600 virtual users that stay. */
function run({ accounts, failures = {}, measured: ofRun, result, snapshot: ofFleet }: Changes = {}) {
  const all = { ...ACCOUNTS, ...accounts };
  const opened = all.alive + Object.values(all.ended).reduce((total, count) => total + count, 0);
  const { connecting } = snapshot();
  const one = snapshot({
    ...{ accounts: all, failures, connected: all.alive, processes: fleetProcesses([600]) },
    transports: { websocket: opened, upgraded: 0, polling: 0 },
    connecting: { ...connecting, opened: { ...connecting.opened, counts: [opened] } },
    ...ofFleet,
  });
  const measured = measurements({
    ...{ targetConnections: 600, expectedAtOnce: 600, peakConnections: 600, snapshots: [one] },
    ...ofRun,
  });
  const connections = connectionFigures(measured);
  const { reasons } = evaluate(measured, { ...perfectResult(), ...result, connections });
  return { connections, reasons, codes: reasons.map(({ code }) => code) };
}

type Case = [what: string, changes: Changes, ...reasons: [code: string, ...details: (string | number)[]][]];

function testCases(cases: Case[]): void {
  for (const [what, changes, ...expected] of cases) {
    it(`${what}: ${expected.map(([code]) => code).join(', ') || 'nothing'}`, () => {
      const { codes, reasons } = run(changes);
      assert.deepEqual(
        codes,
        expected.map(([code]) => code),
      );
      for (const [index, [, ...details]] of expected.entries()) assertNames(reasons[index]?.message, details);
    });
  }
}

const gone = { 'transport close': 300, 'ping timeout': 6 };
const lostWhileIdle: Changes = {
  accounts: { alive: 294, ended: gone },
  failures: { disconnected_transport_close: 300, disconnected_ping_timeout: 6 },
};

describe('connections that are lost', () => {
  const openAfter = (connected: number) => [{ ms: 100, connected, attempts: 0, returns: 0 }];
  const samples = [0, 600, 598, 304, 294, 0].map((connections, t) => ({ t, connections }));
  const stages = [
    { name: 'ramp', t: 0 },
    { name: 'hold', t: 1.5 },
    { name: 'disconnect', t: 4.5 },
  ];
  const neverMade: Changes = {
    accounts: { alive: 560, failed: { http_502: 10 }, ended: { 'io server disconnect': 30 } },
    failures: { http_502: 10, disconnected_io_server_disconnect: 30 },
    measured: { peakConnections: 590 },
  };

  testCases([
    ['while idle', lostWhileIdle, ['CONNECTIONS_DROPPED', '306 of 600', 'transport close 300', 'ping timeout 6', 294]],
    [
      'dated by the samples, until they are released',
      { ...lostWhileIdle, result: { samples, stages } },
      ['CONNECTIONS_DROPPED', '3 s', 'hold'],
    ],
    [
      'as namespaces of connections that stay',
      { failures: { disconnected_io_server_disconnect: 75 } },
      ['CONNECTIONS_DROPPED', '75 virtual users'],
    ],
    [
      'some of them by a planned fault',
      {
        ...lostWhileIdle,
        result: {
          fault: plannedFault({
            notBack: { 'transport close': 200, 'io client disconnect': 7 },
            back: 293,
            curve: openAfter(793),
          }),
        },
      },
      ['CONNECTIONS_DROPPED', '306 of 600', 200],
    ],
    [
      'all of them by a planned fault',
      {
        ...lostWhileIdle,
        result: { fault: plannedFault({ notBack: { 'transport close': 306 }, back: 194, curve: openAfter(694) }) },
      },
    ],
    [
      'as namespaces, while a fault is planned',
      { failures: { disconnected_io_server_disconnect: 75 }, result: { fault: plannedFault() } },
    ],
    [
      'with processes of the fleet that a stop has ended',
      {
        accounts: { alive: 594, ended: { 'fleet process died': 6 } },
        failures: { disconnected_fleet_dead: 6 },
        measured: { stoppedByUser: true, aborted: { code: 'RUN_INCOMPLETE', message: 'stopped' } },
      },
      ['RUN_INCOMPLETE'],
    ],
    [
      'by virtual users that close them',
      { accounts: { alive: 0, ended: { 'io client disconnect': 600 } }, measured: { expectedAtOnce: null } },
    ],
    [
      'apart from those that were never made',
      neverMade,
      ['CONNECTIONS_FAILED', '10 of 600', 'http_502 10'],
      ['CONNECTIONS_DROPPED', '30 of 590'],
      ['TARGET_NOT_REACHED', '590 of 600'],
    ],
  ]);

  it('are not held, and those that their virtual users have closed are not lost', () => {
    const { asked, opened, held, lost, failed } = run(lostWhileIdle).connections;
    assert.deepEqual([asked, opened, held, lost, failed], [600, 600, 294, gone, 306]);
    const namespaces = run({ failures: { disconnected_io_server_disconnect: 75 } }).connections;
    assert.deepEqual([namespaces.held, namespaces.lost], [600, {}]);
    const closed = run({
      accounts: { alive: 0, ended: { 'io client disconnect': 600 } },
      measured: { expectedAtOnce: null },
    }).connections;
    assert.deepEqual([closed.opened, closed.held, closed.lost], [600, null, {}]);
  });
});

describe('connections that come back', () => {
  const awayUs = encoded([...Array<number>(300).fill(1_000_000), ...Array<number>(5).fill(4_000_000)]);
  const returns = { dropped: 310, returned: 305, recovered: 205, gaveUp: 5, left: 0, away: 0, retries: 12, awayUs };
  const back: Changes = { accounts: { returned: 305 }, snapshot: { returns } };

  testCases([
    [
      'have the time that they were away and their sessions; those that stay away are lost',
      { ...back, accounts: { alive: 595, ended: { 'transport close': 5 }, returned: 305 } },
      ['CONNECTIONS_DROPPED', '5 of 600', 305, '1.0 s', '4.0 s', 205, 100],
    ],
    [
      'more often than the planned fault dropped them',
      { ...back, result: { fault: plannedFault({ returns: 300 }) } },
      ['CONNECTIONS_DROPPED', '5 times'],
    ],
    ['as often as the planned fault dropped them', { ...back, result: { fault: plannedFault({ returns: 305 }) } }],
    ['as the engine counts them', back, ['CONNECTIONS_DROPPED']],
    [
      'other than the engine counts them',
      { ...back, accounts: { returned: 304 } },
      ['CONNECTIONS_DROPPED'],
      ['ACCOUNTS_MISMATCH', 304, 305],
    ],
    [
      'of which one has no fate',
      { ...back, snapshot: { returns: { ...returns, gaveUp: 4 } } },
      ['CONNECTIONS_DROPPED'],
      ['ACCOUNTS_MISMATCH', 310, 309],
    ],
  ]);

  it('are no other connections', () => {
    const { reconnection, opened } = run(back).connections;
    const { awayMs, ...counts } = reconnection ?? {};
    assert.deepEqual(counts, { dropped: 310, returned: 305, recovered: 205, gaveUp: 5, left: 0, away: 0 });
    assert.deepEqual([awayMs?.count, opened], [305, 600]);
    assert.equal(run().connections.reconnection, null);
  });
});

describe('a peak', () => {
  const peak = (peakConnections: number, measured: Partial<Measurements> = {}): Changes => ({
    measured: { peakConnections, ...measured },
  });
  const aborted = { code: 'RUN_INCOMPLETE', message: 'stopped' } as const;

  testCases([
    ['below the target', peak(583), ['TARGET_NOT_REACHED', '583 of 600']],
    ['of virtual users that leave by themselves', peak(40, { expectedAtOnce: null })],
    ['of a run that was stopped', peak(40, { aborted }), ['RUN_INCOMPLETE']],
    ['of zero', peak(0), ['NO_CONNECTIONS', 600]],
    ['of zero in a run that was stopped', peak(0, { aborted }), ['RUN_INCOMPLETE']],
  ]);
});

describe('two counts of the same connections', () => {
  const { connecting } = snapshot();
  const timed = (count: number): Changes => ({
    snapshot: { connecting: { ...connecting, opened: { ...connecting.opened, counts: [count] } } },
  });
  const row = {
    host: 'a',
    connections: 300,
    held: 300,
    others: [] as Result['generators'][number]['others'],
  } as Result['generators'][number];
  const hosts = (...generators: Result['generators']): Changes => ({ result: { generators } });
  const other = { ...row, host: 'b', clock: null };
  const quiet = { processes: fleetProcesses([600], { answers: false }), connected: 300 };

  testCases([
    ['of engine and fleet', { snapshot: { connected: 599 } }, ['ACCOUNTS_MISMATCH', 600, 599]],
    ['of engine and fleet, of which a process did not answer', { snapshot: quiet }, ['GENERATOR_SILENT', 'pid 100']],
    ['of engine and connect times', timed(599), ['ACCOUNTS_MISMATCH', 600, 599]],
    ['of all hosts', hosts({ ...row, clock: null }, other)],
    ['of all hosts, without one', hosts({ ...row, clock: null }), ['ACCOUNTS_MISMATCH', 'a 300']],
  ]);
});

describe('workers', () => {
  const one = [{ worker: 'w0', pid: 1, instance: 'a' }];
  const two = [...one, { worker: 'w1', pid: 2, instance: 'b' }];
  const held = (
    perWorker: Record<string, number>,
    perSessionPrefix: Record<string, number>,
    { workersAtStart = one, recovered = 0 } = {},
  ) => {
    const returns = { ...snapshot().returns, recovered };
    const measured = { workersAtStart, workersAtEnd: workersAtStart };
    const { connections, codes } = run({ snapshot: { perWorker, perSessionPrefix, returns }, measured });
    return { perWorker: connections.perWorker, codes };
  };

  it('that joins name and no control knows invalidate the run', () => {
    const perWorker = { w0: 300, w1: 300 };
    assert.deepEqual(held(perWorker, {}), { perWorker, codes: ['WORKER_URLS_WRONG'] });
  });

  it('are not made up of the session ids of other servers', () => {
    assert.deepEqual(held({}, { w0: 590, x7: 4, q: 6 }), { perWorker: { w0: 590 }, codes: [] });
  });

  it('are counted as far as they are known of all connections, also of restored sessions, which do not join again', () => {
    const counted = (named: Record<string, number>, workersAtStart: typeof one, sessions = {}) =>
      held(named, sessions, { workersAtStart, recovered: 200 }).perWorker;
    assert.deepEqual(counted({ w0: 19 }, one), { w0: 600 }, 'the only worker has all of them');
    assert.deepEqual(counted({ w0: 19 }, two), {});
    assert.deepEqual(counted({ w0: 300, w1: 100 }, two, { w1: 200 }), { w0: 300, w1: 300 });
    assert.deepEqual(counted({ w1: 19 }, one), {}, 'a worker that no control knows');
  });
});

describe('transports', () => {
  const carried = (
    websocket: number,
    upgraded: number,
    polling: number,
    {
      transports = 'default',
      upgradeFailures = {},
    }: { transports?: 'default' | 'polling'; upgradeFailures?: object } = {},
  ): Changes => ({
    measured: { transports },
    snapshot: { transports: { websocket, upgraded, polling }, upgradeFailures: { ...upgradeFailures } },
  });
  const upgradeFailures = { http_400: 9, timeout_open: 1 };

  testCases([
    ['of which all upgraded', carried(0, 600, 0)],
    ['that do not add up', carried(0, 599, 0), ['ACCOUNTS_MISMATCH', 600, 599]],
    [
      'that did not upgrade',
      carried(0, 590, 10, { upgradeFailures }),
      ['NOT_UPGRADED', '10 of 600', 'http_400 9', 'timeout_open 1'],
    ],
    ['that the server did not offer', carried(0, 0, 600), ['NOT_UPGRADED', '600 of 600']],
    ['of clients that only poll', carried(0, 0, 600, { transports: 'polling' })],
  ]);

  it('are figures, but not of another engine', () => {
    assert.deepEqual(run(carried(0, 600, 0)).connections.transports, {
      ...{ configured: 'default', websocket: 0, upgraded: 600, polling: 0, upgradeFailures: {} },
    });
    assert.equal(run({ measured: { engine: 'socketio' } }).connections.transports, null);
  });
});

describe('what makes no connection fail', () => {
  testCases([
    ['arrivals that Artillery skipped', { measured: { skippedUsers: 6 } }, ['USERS_SKIPPED', 6]],
    ['acknowledgements of nothing', { snapshot: { unknownAcks: 5 } }, ['MESSAGES_DISAGREE', 5]],
  ]);
});
