import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newOverTime } from '../../../plugin/run/memory/measure-over-time.ts';
import { failureDefinitionOf } from '../../../protocol/codes/failure-codes.ts';
import { FINDINGS, type FindingCode } from '../../../protocol/codes/finding-codes.ts';
import { assertEach } from '../../helpers/columns.ts';
import { snapshot } from '../../helpers/measurements.ts';
import { summaryOf } from '../../helpers/message-figures.ts';
import { type Change, fleetProcesses, set, testCases, verdictOf } from '../../helpers/verdict.ts';

describe('a limit behind failures', () => {
  const failing =
    (failures: Record<string, number>, more: Change = () => {}): Change =>
    (result, measured) => {
      const failed = Object.values(failures).reduce((sum, count) => sum + count, 0);
      Object.assign(result.connections, { peak: 5000 - failed, failed, failures });
      more(result, measured);
    };
  const filesUsedUp: Change = ({ environment }) =>
    Object.assign(environment.limits, { serverOpenFiles: 299, serverOpenFilesLimit: 300 });
  /** Returns a run with connections that open and connections that time out, by interval. */
  const waiting = (opened: number[], failed: number[], slowestMs = 12, cause = 'timeout_upgrade'): Change =>
    failing({ [cause]: 100 }, ({ connections }) => {
      const none = opened.map(() => null);
      const overTime = { intervalSeconds: 1, t: opened, opened, failed, meanMs: none, slowestMs: none, ended: failed };
      Object.assign(connections, { overTime, connectMs: { ...summaryOf(4900, 4), max: slowestMs } });
    });
  const refusedAt = (opened: number[], cause = 'http_503', failed = opened.map(() => 33)): Change =>
    failing({ [cause]: 100 }, ({ connections }) => {
      const t = opened.map((_, index) => index + 3);
      const none = opened.map(() => null);
      const times = { intervalSeconds: 1, t, meanMs: none, slowestMs: none };
      const overTime = { ...times, opened, failed, ended: opened.map(() => 0) };
      const failureExamples = { [cause]: 'the server answered 503 Service warming up' };
      Object.assign(connections, { overTime, failureExamples });
    });
  it('the report of a limit on the number of connections has no rate', () => {
    assert.doesNotMatch(verdictOf(refusedAt([4900, 0, 0])).findings[0]?.message ?? '', /came in after/);
  });

  it('failures count as an expired login if the server accepted connections before', () => {
    const fixOf = (opened: number[], failed: number[]) =>
      verdictOf(refusedAt(opened, 'http_401', failed)).findings[0]?.fix ?? '';
    assert.match(fixOf([2500, 2400, 0], [0, 0, 100]), /had accepted this login before: if it expired during the run/);
    assert.doesNotMatch(fixOf([2500, 0, 2400], [50, 0, 50]), /accepted this login before/);
  });

  const serverFull = failing({ ECONNRESET: 60, timeout_open: 40 }, filesUsedUp);
  const http_400 = 'POST /login answered 401; then 400 Bad Request';
  const refused = failing({ http_400: 3 }, set('connections', { failureExamples: { http_400 } }));
  const LIMIT: FindingCode = 'LIMIT_REACHED';
  const full = (peak: number, command: string) =>
    failing({ ECONNRESET: 100 }, (result, measured) => {
      filesUsedUp(result, measured);
      result.connections.peak = peak;
      measured.fullest = { pid: 7, command, openFiles: 299, limit: 300 };
    });

  testCases([
    ['failures behind a limit of a proxy', failing({ http_502: 95, timeout_open: 5 }), LIMIT, '95 of 100', 'http_502'],
    ['failures at a limit of the server, whatever clients see', serverFull, LIMIT, '100 failed', '299', '300 files'],
    [
      'failures at a limit of the rate if other connections still open',
      refusedAt([1000, 2000, 1900]),
      LIMIT,
      '3900 came in after',
    ],
    [
      ...(['is a time in which the server was not ready, where all later ones come in'] as const),
      refusedAt([1000, 900, 0, 0, 2000, 1000], 'http_503', [0, 50, 50, 0, 0, 0]),
      ...(['CONNECTIONS_FAILED', 'the server answered 503 Service warming up: 100 of 5000'] as const),
      ...['no connection succeeded from 5.0 to 6.0 s, and none was refused after 6.0 s, when 3,000 succeeded'],
    ],
    [
      'a limit that makes other connections wait',
      waiting([4000, 900, 0, 0], [0, 0, 50, 50]),
      LIMIT,
      4900,
      '12.0 ms',
      '100 waited',
    ],
    [
      'a limit that closes other connections',
      waiting([4000, 900, 0], [0, 20, 80], 12, 'closed'),
      LIMIT,
      4900,
      '100 were closed',
    ],
    [
      'failures without a limit visible in one interval',
      waiting([4900], [100], 12, 'ECONNRESET'),
      'CONNECTIONS_FAILED',
    ],
    [
      'failures without a limit if most connections open later',
      refusedAt([1000, 2000, 1900], 'http_502'),
      'CONNECTIONS_FAILED',
    ],
    [
      'failures without a limit if some connections still open',
      waiting([4000, 0, 0, 900], [0, 50, 50, 0]),
      'CONNECTIONS_FAILED',
    ],
    [
      'failures without a limit if all connections wait',
      waiting([4000, 900, 0, 0], [0, 0, 50, 50], 9000),
      'CONNECTIONS_FAILED',
    ],
    ['a few failures, which show no limit', failing({ http_502: 3 }), 'CONNECTIONS_FAILED', '3 of 5000'],
    [
      'failures at a limit of a named process',
      full(4000, 'node app.mjs'),
      LIMIT,
      'process 7 (node app.mjs)',
      '299 of at most 300',
    ],
    [
      'failures at a limit of files other than connections',
      full(100, 'node app.mjs'),
      LIMIT,
      '199 of which are no connections',
    ],
    [
      'failures possibly at a proxy with two sockets per user',
      full(100, 'nginx'),
      LIMIT,
      '299 of at most 300 files open',
    ],
    [
      'a few failures, which show no limit of files',
      failing({ ECONNRESET: 3 }, filesUsedUp),
      'CONNECTIONS_FAILED',
      '3 of 5000',
    ],
    [
      'failures of several causes, which show no limit',
      failing({ http_502: 60, ECONNRESET: 40 }),
      'CONNECTIONS_FAILED',
      60,
      40,
    ],
    [
      'failures with the text of the first one',
      refused,
      'CONNECTIONS_FAILED',
      'http_400 3',
      'POST /login answered 401',
    ],
  ]);
});

describe('the fix for failures', () => {
  it('the fix for failures is the same as for the run’s own clients if the server refused all alike', () => {
    const { findings } = verdictOf((result, measured) => {
      Object.assign(result.connections, { opened: 0, peak: 0, failed: 9, failures: { http_400: 9 } });
      const fix = 'let its `allowRequest` accept this client';
      measured.observations.note('clientsRefused', { error: 'HTTP 403: not on the list', fix, lost: ['warm-up'] });
    });
    const failed = findings.find(({ code }) => code === 'CONNECTIONS_FAILED');
    assert.match(failed?.fix ?? '', /`allowRequest`/);
    assert.doesNotMatch(failed?.fix ?? '', /Upgrade/);
  });

  const fixOf = (failures: Record<string, number>) => {
    const failed = Object.values(failures).reduce((sum, count) => sum + count, 0);
    const { findings } = verdictOf(set('connections', { failures, failed }));
    return findings[0]?.fix;
  };

  it('the fix for failed connections is the fix for their most frequent cause', () => {
    assert.equal(fixOf({ ECONNRESET: 3, http_429: 7 }), failureDefinitionOf('http_429')?.remedy);
  });

  it('the fix for failed connections is that of their HTTP status, or a general one for other statuses', () => {
    assert.equal(fixOf({ http_503: 700 }), failureDefinitionOf('http_503')?.remedy);
    assert.equal(fixOf({ http_418: 700 }), FINDINGS.CONNECTIONS_FAILED.remedy);
  });
});

describe('fleet processes with connection counts that are', () => {
  const stopAt =
    (target: number, ...held: number[]): Change =>
    ({ connections }, measured) => {
      const peak = held.reduce((total, one) => total + one, 0);
      Object.assign(connections, { target, peak });
      const opened = { ...snapshot().connecting, opened: { startedAtUs: 0, intervalUs: 1e6, counts: [peak] } };
      const accounts = { ...snapshot().accounts, asked: peak, alive: peak };
      const transports = { websocket: peak, upgraded: 0, polling: 0 };
      const processes = fleetProcesses(held);
      measured.snapshots.push(snapshot({ processes, accounts, connected: peak, transports, connecting: opened }));
    };

  const comingAndGoing: Change = (r, f) => {
    stopAt(5000, 1200, 1200, 1200)(r, f);
    Object.assign(f, { overTime: newOverTime({ collect: true }, true) });
  };

  testCases([
    ['equal', stopAt(5000, 1200, 1200, 1200), 'LIMIT_REACHED', 3, 1200],
    ['fleet processes with equal counts of connections that open and close', comingAndGoing],
    ['different', stopAt(5000, 1200, 1190, 1230)],
    ['fleet processes with equal counts by chance, as there are two', stopAt(5000, 1200, 1200)],
    ['fleet processes with all connections that were requested', stopAt(5000, 1666, 1667, 1667)],
    [
      'fleet processes with large counts a thousandth apart',
      stopAt(100_000, 20_000, 20_010, 20_020),
      'LIMIT_REACHED',
      20_020,
    ],
    ['fleet processes with large counts more than a thousandth apart', stopAt(100_000, 20_000, 20_010, 20_021)],
    ['fleet processes with small counts that differ by one', stopAt(100_000, 200, 201, 200), 'LIMIT_REACHED', 201],
    ['fleet processes with counts below a hundred', stopAt(100_000, 99, 99, 99)],
  ]);
});

describe('the generator', () => {
  const late =
    (...delaysP99Ms: number[]): Change =>
    ({ generator }) => {
      for (const [index, delayP99Ms] of delaysP99Ms.entries()) Object.assign(generator[index] ?? {}, { delayP99Ms });
    };
  const processes =
    (changes: object, stoppedByUser = false): Change =>
    (_, f) => {
      f.stoppedByUser = stoppedByUser;
      f.snapshots.push(snapshot({ processes: fleetProcesses([5], changes) }));
    };
  const lateOnHost: Change = ({ generator: [loop] }) => Object.assign(loop ?? {}, { delayP99Ms: 51, host: 'b' });
  const [silent, dead] = [{ answers: false }, { alive: false, answers: false }];

  testCases([
    ['generator with a late event loop', late(51), 'GENERATOR_LATE', 51],
    ['generator with a late event loop on a host', lateOnHost, 'GENERATOR_LATE', 'on b'],
    [
      'generator with two late event loops in one window',
      late(60, 90),
      'GENERATOR_LATE',
      'fleet process 0',
      '90 ms',
      'ramp',
    ],
    ['generator with a process that died', processes(dead), 'FLEET_PROCESS_DIED', 1, 'pid 100'],
    ['generator with a process that does not answer', processes(silent), 'GENERATOR_SILENT', 1, 'pid 100'],
    ['generator with a process that died after a stop', processes(dead, true)],
    ['generator with a process that does not answer after a stop', processes(silent, true)],
  ]);

  const ofConnections = (failures: Record<string, number>, lost = {}, stoppedByUser = false): Change => {
    const failed = Object.values(failures).reduce((sum, count) => sum + count, 0);
    return (result, measured) => {
      set('connections', { failures, failed, lost })(result);
      Object.assign(measured, { stoppedByUser });
    };
  };
  const lost = { 'fleet process died': 7 };

  testCases([
    [
      'generator out of open files',
      ofConnections({ EMFILE: 1 }),
      'GENERATOR_FAILED',
      'EMFILE 1',
      'limit of open files',
    ],
    [
      'generator out of ports',
      ofConnections({ EADDRNOTAVAIL: 95 }),
      'GENERATOR_FAILED',
      'EADDRNOTAVAIL 95',
      'no free port',
    ],
    [
      'generator with connections of a dead process',
      ofConnections({ fleet_dead: 3 }, lost),
      'GENERATOR_FAILED',
      '10 connections',
      'fleet_dead 3',
    ],
    ['generator with connections of a dead process after a stop', ofConnections({ fleet_dead: 3 }, lost, true)],
    ["generator: lost host's connections", ofConnections({}, { 'agent lost': 9 }), 'GENERATOR_FAILED', 'agent lost 9'],
    [
      'generator out of open files beside a server that refuses',
      ofConnections({ EMFILE: 95, http_500: 2 }),
      ['GENERATOR_FAILED', 'CONNECTIONS_FAILED'],
      'EMFILE 95',
    ],
  ]);

  it('a problem of the load generator makes the outcome of a run unknown, whatever else failed', () => {
    const causes: Record<string, number>[] = [
      { EMFILE: 1 },
      { fleet_dead: 1 },
      { EADDRINUSE: 1, http_500: 50 },
      { buffers_full: 1 },
    ];
    assertEach(causes, (one) => verdictOf(ofConnections(one)).status, Array(causes.length).fill('INVALID'));
    const lostOnes = [lost, { 'agent lost': 1 }, { 'buffers full': 1 }];
    assertEach(lostOnes, (one) => verdictOf(ofConnections({}, one)).status, Array(lostOnes.length).fill('INVALID'));
  });

  it('reports the generator as late only in the window in which its event loop was late', () => {
    assert.doesNotMatch(verdictOf(late(51)).findings[0]?.message ?? '', /;/);
  });
});
