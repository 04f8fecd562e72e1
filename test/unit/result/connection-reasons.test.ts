/** Connections that fail, are lost, come back or are missing. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Measurements } from '../../../plugin/run/measurements/measurements.ts';
import { type Changes, run, testRuns } from '../../helpers/connected-run.ts';
import { encoded } from '../../helpers/measurements.ts';
import { plannedFault } from '../../helpers/planned-fault.ts';

const gone = { 'ping timeout': 6, 'transport close': 300 };
const lostWhileIdle: Changes = {
  accounts: { alive: 294, ended: gone },
  failures: { disconnected_transport_close: 300, disconnected_ping_timeout: 6 },
};

describe('connections that are lost', () => {
  const openAfter = (connected: number) => [{ ms: 100, connected, attempts: 0, returns: 0 }];
  const samples = [0, 600, 598, 310, 294, 0].map((connections, t) => ({ t, connections }));
  const stages = [
    { name: 'ramp', t: 0 },
    { name: 'hold', t: 3 },
    { name: 'disconnect', t: 4.5 },
  ];
  const neverMade: Changes = {
    accounts: { alive: 560, failed: { http_502: 10 }, ended: { 'io server disconnect': 30 } },
    failures: { http_502: 10, disconnected_io_server_disconnect: 30 },
    measured: { peakConnections: 590 },
  };

  testRuns([
    ['while idle', lostWhileIdle, ['CONNECTIONS_DROPPED', '306 of 600', 'transport close 300, ping timeout 6', 294]],
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

  it('are no lost namespaces besides', () => {
    assert.doesNotMatch(run(lostWhileIdle).reasons[0]?.message ?? '', /namespace/);
  });

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

  testRuns([
    [
      'have the time that they were away and their sessions; those that stay away are lost',
      { ...back, accounts: { alive: 595, ended: { 'transport close': 5 }, returned: 305 } },
      ['CONNECTIONS_DROPPED', '5 of 600', 305, '1.0 s', '99 %', '4.0 s', 205, 100],
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

  testRuns([
    ['below the target', peak(583), ['TARGET_NOT_REACHED', '583 of 600']],
    ['of virtual users that leave by themselves', peak(40, { expectedAtOnce: null })],
    ['of a run that was stopped', peak(40, { aborted }), ['RUN_INCOMPLETE']],
    ['of zero', peak(0), ['NO_CONNECTIONS', 600]],
    ['of zero in a run that was stopped', peak(0, { aborted }), ['RUN_INCOMPLETE']],
  ]);
});

describe('what makes no connection fail', () => {
  testRuns([
    ['arrivals that Artillery skipped', { measured: { skippedUsers: 6 } }, ['USERS_SKIPPED', 6]],
    ['acknowledgements of nothing', { snapshot: { unknownAcks: 5 } }, ['MESSAGES_DISAGREE', 5]],
  ]);
});
