import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { tooLargeText } from '../../../plugin/fleet/client/failure.ts';
import type { CloseKind } from '../../../protocol/link/close-kinds.ts';
import { type Changes, run, testRuns } from '../../helpers/connected-run.ts';
import { encoded, endKind, snapshot } from '../../helpers/measurements.ts';
import { plannedFault } from '../../helpers/planned-fault.ts';
import { generatorHost, perfectResult } from '../../helpers/results.ts';
import { fleetProcesses } from '../../helpers/verdict.ts';

const closedByReason = { 'ping timeout': 6, 'transport close': 300 };
const lostWhileIdle: Changes = {
  accounts: { alive: 294, ended: closedByReason },
};
const idleAnd = (result: Changes['result']): Changes => ({ ...lostWhileIdle, result });
const namespaces: Changes = { failures: { disconnected_io_server_disconnect: 75 } };
const closed: Changes = {
  accounts: { alive: 0, ended: { 'io client disconnect': 600 } },
  measured: { expectedAtOnce: null },
};
const aborted = { how: 'stopped', code: 'RUN_INCOMPLETE', message: 'stopped' } as const;

describe('lost connections', () => {
  const samples = [0, 600, 598, 310, 294, 0].map((connections, t) => ({ t, connections }));
  const stages = Object.entries({ ramp: 0, hold: 3, disconnect: 4.5 }).map(([name, t]) => ({ name, t }));
  /** @param notReturned number of dropped connections that did not return, by cause */
  const faulty = (notReturned: Record<string, number>, returned: number) => {
    const curve = [{ ms: 100, connected: 500 + returned, attempts: 0, returns: 0 }];
    return idleAnd({ fault: plannedFault({ notReconnected: notReturned, reconnected: returned, curve }) });
  };
  const closing = { 'io client disconnect': 7 };
  const stopped: Changes = {
    accounts: { alive: 594, ended: { 'fleet process died': 6 } },
    measured: { stoppedByUser: true, aborted },
  };
  const neverMade: Changes = {
    accounts: { alive: 560, failed: { http_502: 10 }, ended: { 'io server disconnect': 30 } },
    failures: { http_502: 10 },
    measured: { peakConnections: 590 },
  };
  const DROPPED = 'CONNECTIONS_DROPPED';
  /** @param rampSeconds length of the ramp in seconds */
  const aged = (rampSeconds: number, ...seconds: number[]): Changes => {
    const ages = seconds.flatMap((one) =>
      Array.from({ length: 20 }, (): CloseKind['samples'][number] => [one * 1000, 0, 0, 0]),
    );
    const ramps = [{ beganAtUs: 0, endedAtUs: 1e6, seconds: rampSeconds, connections: 600 }];
    const usual = endKind({ count: 300, samples: ages });
    const rare = endKind({ reason: 'ping timeout', count: 6, samples: [[90_000, 0, 0, 0]] });
    return { ...idleAnd({ samples, stages }), snapshot: { ends: [rare, usual] }, measured: { ramps } };
  };

  describe('that closed after the same silence', () => {
    const announced = { maxPayloadBytes: 1e6, pingIntervalMs: 25_000, pingTimeoutMs: 20_000 };
    const silent = (ageSeconds: number, received = 0) => {
      const { snapshot, ...others } = aged(8, ageSeconds, ageSeconds, ageSeconds);
      const samples: [number, number, number, number][] = [[1000 * ageSeconds, 0, received, 2]];
      const ends = [endKind({ cause: 'closed_1006', announced, count: 60, samples })];
      return run({ ...others, snapshot: { ...snapshot, ends } }).reasons.find(({ code }) => code === DROPPED);
    };

    it('connections that closed after the same silence point to an idle timeout below the ping interval', () => {
      const { message = '', fix, values } = silent(3) ?? {};
      assert.match(message, /nothing was sent on them, and the server pings only every 25 s: an idle time-out of 3 s/);
      assert.match(fix ?? '', /above the ping interval of 25 s \(of a proxy: nginx `proxy_read_timeout`/);
      assert.ok(values?.some(({ name, unit }) => name === 'ping interval' && unit === 's'));
    });

    it('connections that received events or pings before they closed do not point to an idle timeout', () => {
      for (const found of [silent(3, 5), silent(60)])
        assert.doesNotMatch(`${found?.message} ${found?.fix}`, /proxy_read/);
    });
  });

  describe('without a ping', () => {
    const announced = { maxPayloadBytes: 1e6, pingIntervalMs: 1000, pingTimeoutMs: 500 };
    const deaf: Changes = {
      accounts: { alive: 570, ended: { 'ping timeout': 30 } },
      failures: { disconnected_ping_timeout: 30 },
      snapshot: { ends: [endKind({ reason: 'ping timeout', announced, count: 30 })] },
    };
    const { generator } = perfectResult();
    const samplesOf = (cpuPercent: number) =>
      [600, 600, 570, 570].map((connections, t) => ({
        t,
        connections,
        worker: { cpuPercent: t === 2 ? cpuPercent : 3 },
      }));
    const lossOf = (cpuPercent: number, delayMaxMs: number) => {
      const loops = generator.map((loop) => ({ ...loop, delayMaxMs }));
      return run({ ...deaf, result: { stages, samples: samplesOf(cpuPercent), generator: loops } });
    };
    const RULE = /the server pings every 1 s, and its clients give up when a ping is 0\.5 s late/;

    it('ping timeouts point to the ping cycle, and to a blocked event loop if the server used its CPU', () => {
      const { code, message = '', fix } = lossOf(100, 10).reasons[0] ?? {};
      assert.deepEqual([code, RULE.test(message)], [DROPPED, true]);
      assert.match(message, /event loop of the server stood still, whose processes used up to 100 % of a core/);
      assert.match(fix ?? '', /blocks the event loop of the server for over 0\.5 s/);
    });

    it("ping timeouts point to the network path of the pings if the server's CPU was idle", () => {
      const { message, fix } = lossOf(3, 10).reasons[0] ?? {};
      assert.match(
        message ?? '',
        /pings were late on the side of the server, whose processes used up to 3 % of a core/,
      );
      assert.match(fix ?? '', /a proxy that buffers/);
    });

    it('ping timeouts make the run INVALID if a generator late by the ping timeout can be the cause', () => {
      const { reasons, verdict, outcome } = lossOf(3, 700);
      assert.deepEqual([reasons[0]?.code, reasons[0]?.explains.includes(DROPPED)], ['GENERATOR_LATE', true]);
      assert.deepEqual([verdict.status, outcome.status], ['INVALID', 'UNKNOWN']);
    });
  });

  it("connections closed by a size limit of the generator's clients are its fault, with the sizes", () => {
    const closeText = tooLargeText(16_777_216, 17_825_824);
    const end = endKind({ reason: 'message too large', cause: 'message_too_large', closeText, count: 306 });
    const ended = { 'message too large': 306 };
    const { reasons } = run({ accounts: { alive: 294, ended }, snapshot: { ends: [end] } });
    const [{ code, about, message, fix } = {}] = reasons;
    assert.deepEqual(
      [code, about, reasons.some((one) => one.code === DROPPED)],
      ['GENERATOR_FAILED', 'generator', false],
    );
    assert.match(
      message ?? '',
      /306 connections .*17,825,824 bytes; the limit of the clients, `maxPayload`, is 16,777,216/,
    );
    assert.match(fix ?? '', /raise the option `maxPayload`/);
  });

  testRuns([
    ['connections lost while idle', lostWhileIdle, [DROPPED, '306 of 600', 'transport close 300, ping timeout 6', 294]],
    [
      'connections dated by samples, until the release',
      idleAnd({ samples, stages }),
      [DROPPED, 'between 2.0 and 3.0 s', 'hold'],
    ],
    [
      'connections lost at the same age',
      aged(4, 5, 5.05, 5.1),
      [DROPPED, 'they ended 5.0 to 5.1 s after they had connected'],
    ],
    [
      'connections lost at the same age, to a tenth of a second',
      aged(4, 0.9, 0.95, 1),
      [DROPPED, 'they ended 0.9 to 1.0 s'],
    ],
    [
      'connections lost at one moment, at different ages',
      aged(4, 5, 6, 7, 8),
      [DROPPED, 'between 2.0 and 3.0 s', 'hold'],
    ],
    [
      'connections lost at one moment, long after they all connected',
      aged(1, 30, 30.5, 31),
      [DROPPED, 'between 2.0 and 3.0 s', 'hold'],
    ],
    ['namespaces lost on connections that stay open', namespaces, [DROPPED, '75 virtual users']],
    [
      'connections partly closed by a fault',
      faulty({ ...closing, 'transport close': 200 }, 293),
      [DROPPED, '306 of 600', 200],
      ['NOT_RECONNECTED', 207],
    ],
    ['connections all closed by a planned fault', faulty({ 'transport close': 306 }, 194), ['NOT_RECONNECTED', 306]],
    ['namespaces lost while a fault is planned', { ...namespaces, result: { fault: plannedFault() } }],
    ['connections of fleet processes that a stop ended', stopped, ['RUN_INCOMPLETE']],
    ['connections closed by their virtual users', closed],
    [
      'connections lost for other reasons than failed connects',
      neverMade,
      ['CONNECTIONS_FAILED', '10 of 600', 'http_502 10'],
      [DROPPED, '30 of 590'],
    ],
  ]);

  it('reports when a process ended, but not separately when its connections were lost', () => {
    const process = { pid: 9, layer: 'worker', command: 'node app.mjs', atUs: 2.2e6, openFiles: 5, limit: 1024 };
    const measured = { samplesBeganAtUs: 0, endedProcesses: () => [process] };
    const { findings } = run({ ...idleAnd({ samples, stages }), measured });
    const [cause, lost] = ['PROCESS_ENDED', DROPPED].map((code) => findings.find((one) => one.code === code));
    assert.match(cause?.message ?? '', /ended at 2\.2 s/);
    assert.doesNotMatch(lost?.message ?? 'most ended', /most ended/);
  });

  describe('a common cause of lost connections', () => {
    const BY_SERVER = 'io server disconnect';
    /** @param kind kind of the closes; they occur one second apart, each after the given number of messages */
    const common = (kind: Partial<CloseKind>, sent: number[], endedInterval: number[] = []): Changes => {
      const ends = [
        endKind({ count: 600, samples: sent.map((count, index) => [4000 + 1000 * index, count, 0, 9]), ...kind }),
      ];
      const { connecting } = snapshot();
      const bySecond = { startedAtUs: 0, intervalUs: 1e6 };
      const [opened, ended] = [[600], endedInterval].map((counts) => ({ ...bySecond, counts }));
      const ofFleet = { ends, connecting: { ...connecting, opened, ended } } as Changes['snapshot'];
      const accounts = { alive: 0, ended: { [kind.reason ?? 'transport close']: 600 } };
      return { accounts, snapshot: ofFleet, measured: { samplesBeganAtUs: 0 } };
    };
    const CASES: [what: string, changes: Changes, message: RegExp, fix: RegExp][] = [
      [
        'close frame of the application after the same number of messages',
        common({ cause: 'closed_4008', closeText: 'slow down' }, [16, 16, 16, 16, 16]),
        /"slow down"\), after 16 messages each/,
        /^send fewer messages/,
      ],
      [
        'connections closed after the few messages of a flow',
        common({ cause: 'closed_4001' }, [2, 2, 2, 2, 2]),
        /600 with 4001/,
        /^see where the application closes/,
      ],
      [
        'connections cut after the same number of messages',
        common({ cause: 'closed_1006' }, [16, 16, 16, 16, 16]),
        /600 with 1006/,
        /the process of the server ended/,
      ],
      [
        'close frame after different numbers of messages',
        common({ cause: 'closed_1008' }, [16, 17, 16, 16, 16]),
        /600 with 1008 \(a violation of a policy of the server\)/,
        /^see what the server requires/,
      ],
      [
        'disconnect by the application after the same number of messages',
        common({ reason: BY_SERVER }, [16, 16, 16, 16, 16]),
        /the application itself closed 600 of 600 connections, after 16 messages each/,
        /^send fewer messages/,
      ],
      [
        'disconnect of all connections at one moment',
        common({ reason: BY_SERVER }, [0, 0, 0, 0, 0], [...Array(17).fill(0), 600]),
        /all of them from 17\.0 to 18\.0 s of the run, 4\.0 to 8\.0 s after they had connected/,
        /io\.disconnectSockets/,
      ],
    ];
    for (const [what, changes, message, fix] of CASES) {
      it(`the report has the common cause of lost connections: ${what}`, () => {
        const found = run(changes).findings.find(({ code }) => code === DROPPED);
        assert.match(found?.message ?? '', message);
        assert.match(found?.fix ?? '', fix);
      });
    }
  });

  it('reports no open connections if all were lost', () => {
    const messageOf = (alive: number) =>
      run({ accounts: { alive, ended: { 'transport close': 600 - alive } } }).reasons[0]?.message ?? '';
    assert.doesNotMatch(messageOf(0), /were open/);
    assert.match(messageOf(1), /; 1 were open at the end of the broadcasts/);
  });

  describe('an expired login', () => {
    const ended = { alive: 0, ended: { 'io server disconnect': 600 } };
    const reconnectFailed = (event: string, text: string): Changes => ({
      accounts: ended,
      snapshot: { ends: [endKind({ reason: 'io server disconnect', event, text, count: 600 })] },
    });
    const example = 'the connection was lost: transport close; then the reconnect failed: jwt expired';
    const refused: Changes = {
      ...lostWhileIdle,
      snapshot: { failureExamples: { disconnected_transport_close: example } },
    };
    const cases: [Changes, isExpired: boolean][] = [
      [reconnectFailed('auth_error', '{"message":"jwt expired"}'), true],
      [reconnectFailed('token_expired', ''), true],
      [refused, true],
      [reconnectFailed('kick', '"the offer has expired"'), false],
      [reconnectFailed('kick', '"idle"'), false],
    ];
    for (const [index, [changes, isExpired]] of cases.entries()) {
      it(`the fix for lost connections, case ${index + 1}, ${isExpired ? 'suggests' : 'does not suggest'} renewing the login`, () => {
        const { message, fix } = run(changes).reasons.find(({ code }) => code === DROPPED) ?? {};
        assert.equal(/^the login expired during the run: /.test(fix ?? ''), isExpired, fix);
        if (changes === refused) assert.match(message ?? '', /the reconnect failed: jwt expired$/);
      });
    }
  });

  it('reports no common moment of connections if less than half of them closed in it', () => {
    const messageOf = (...connections: number[]) => {
      const gradual = connections.map((count, t) => ({ t, connections: count }));
      return run(idleAnd({ samples: gradual, stages })).reasons[0]?.message ?? '';
    };
    assert.doesNotMatch(messageOf(600, 500, 400, 294), /most ended/);
    assert.match(messageOf(600, 440, 400, 294), /most ended between 0\.0 and 1\.0 s, in stage `ramp`/);
  });

  it('each connection counts once as lost, failed, held, or closed by its virtual user', () => {
    const figuresOf = (changes: Changes) => {
      const { asked, notOpened, opened, held, lost, closed, failed } = run(changes).connections;
      return [asked, notOpened, opened, held, lost, closed, failed];
    };
    assert.deepEqual(figuresOf(lostWhileIdle), [600, {}, 600, 294, closedByReason, 0, 0]);
    assert.deepEqual(figuresOf(namespaces), [600, {}, 600, 600, {}, 0, 75]);
    assert.deepEqual(figuresOf(closed), [600, {}, 600, null, {}, 600, 0]);
    assert.deepEqual(figuresOf({ accounts: { asked: 612, pending: 2, alive: 600, failed: { http_502: 10 } } }), [
      ...[612, { http_502: 10, pending: 2 }, 600, 600, {}, 0, 0],
    ]);
  });
});

describe('reconnecting connections', () => {
  const awayUs = encoded([...Array<number>(300).fill(1_000_000), ...Array<number>(5).fill(4_000_000)]);
  const returns = { dropped: 310, returned: 305, recovered: 205, gaveUp: 5, left: 0, away: 0, retries: 12, awayUs };
  const reconnects: Changes = { accounts: { returned: 305 }, snapshot: { returns } };
  const someAway = { ...reconnects, accounts: { alive: 595, ended: { 'transport close': 5 }, returned: 305 } };
  const otherCount = { ...reconnects, accounts: { returned: 304 } };
  const withoutFate = { ...reconnects, snapshot: { returns: { ...returns, gaveUp: 4 } } };
  const faulty = (planned: number) => ({ ...reconnects, result: { fault: plannedFault({ returns: planned }) } });
  const DROPPED: [string] = ['CONNECTIONS_DROPPED'];

  testRuns([
    [
      'dropped connections that returned with their times, or were lost',
      someAway,
      [...DROPPED, '5 of 600', 305, '1.00 s', '99 %', '4.00 s', 205, 100],
    ],
    ['more reconnects than the planned fault dropped', faulty(300), [...DROPPED, '5 times']],
    ['exactly the reconnects that the planned fault caused', faulty(305)],
    ['exactly the reconnects that the engine counts', reconnects, DROPPED],
    ['fewer reconnects than the engine counts', otherCount, ['ACCOUNTS_MISMATCH', 304, 305], DROPPED],
    ['one dropped connection without an outcome', withoutFate, ['ACCOUNTS_MISMATCH', 310, 309], DROPPED],
  ]);

  it('counts reconnecting connections only once', () => {
    const { reconnection, opened } = run(reconnects).connections;
    const { awayMs, ...counts } = reconnection ?? {};
    assert.deepEqual(counts, { dropped: 310, returned: 305, recovered: 205, gaveUp: 5, left: 0, away: 0 });
    assert.deepEqual([awayMs?.count, opened], [305, 600]);
    assert.equal(run().connections.reconnection, null);
  });
});

describe('a run', () => {
  const peak = (peakConnections: number, measured: Changes['measured'] = {}): Changes => ({
    measured: { peakConnections, ...measured },
  });

  testRuns([
    ['peak below the target', peak(583), ['TARGET_NOT_REACHED', '583 of 600']],
    ['peak between two readings', { ...peak(40), accounts: { peak: 583 } }, ['TARGET_NOT_REACHED', '583 of 600']],
    ['peak of virtual users that leave by themselves', peak(40, { expectedAtOnce: null })],
    ['peak of a stopped run', peak(40, { aborted }), ['RUN_INCOMPLETE']],
    ['one requested connection missing from the counts', { accounts: { asked: 601 } }, ['ACCOUNTS_MISMATCH', 601, 600]],
    ['no connection opened', { ...peak(0), accounts: { asked: 0, alive: 0 } }, ['RUN_INCOMPLETE', 600]],
    ['peak of zero in a stopped run', peak(0, { aborted }), ['RUN_INCOMPLETE']],
    ['arrivals that Artillery skipped', { measured: { skippedUsers: 6 } }, ['USERS_SKIPPED', 6]],
    [
      'acknowledgements that carry errors',
      { snapshot: { acks: 9, ackErrors: { '{"error":"no"}': 3, '{}': 1 } } },
      ['ACKS_CARRY_ERRORS', '4 of 9 acknowledgements', 'most often {"error":"no"}, 3 times'],
    ],
    ['acknowledgements without a message', { snapshot: { unknownAcks: 5 } }, ['MESSAGES_DISAGREE', 5]],
  ]);
});

describe('two counts of the same connections', () => {
  const { connecting } = snapshot();
  const timed = (count: number): Changes => ({
    snapshot: { connecting: { ...connecting, opened: { ...connecting.opened, counts: [count] } } },
  });
  const hosts = (...names: string[]): Changes => ({
    result: { generators: names.map((host) => ({ ...generatorHost(host), connections: 300, held: 300, clock: null })) },
  });
  const quiet = { processes: fleetProcesses([600], { answers: false }), connected: 300 };

  testRuns([
    ['engine and fleet count different connections', { snapshot: { connected: 599 } }, ['ACCOUNTS_MISMATCH', 600, 599]],
    [
      'engine and fleet count different connections while connections opened',
      { snapshot: { connected: 599, still: false } },
    ],
    [
      'engine and fleet count different connections, with a process that did not answer',
      { snapshot: quiet },
      ['GENERATOR_SILENT', 'pid 100'],
    ],
    ['engine and connect times count different connections', timed(599), ['ACCOUNTS_MISMATCH', 600, 599]],
    ['all hosts report their counts', hosts('a', 'b')],
    ['all hosts but one report their counts', hosts('a'), ['ACCOUNTS_MISMATCH', 'a 300']],
  ]);
});

describe('worker names', () => {
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

  it('a run is INVALID if joins name workers that no control URL reaches', () => {
    const perWorker = { w0: 300, w1: 300 };
    assert.deepEqual(held(perWorker, {}), { perWorker, codes: ['WORKER_URLS_WRONG'] });
  });

  it('reads no worker names from session ids of servers that are not instrumented', () => {
    assert.deepEqual(held({}, { w0: 590, x7: 4, q: 6 }), { perWorker: { w0: 590 }, codes: [] });
  });

  it('counts worker names over all connections, including restored sessions without a second join', () => {
    const counted = (named: Record<string, number>, workersAtStart: typeof one, sessions = {}) =>
      held(named, sessions, { workersAtStart, recovered: 200 }).perWorker;
    assert.deepEqual(counted({ w0: 19 }, one), { w0: 600 }, 'the only worker has all of them');
    assert.deepEqual(counted({ w0: 19 }, two), {});
    assert.deepEqual(counted({ w0: 300, w1: 100 }, two, { w1: 200 }), { w0: 300, w1: 300 });
    assert.deepEqual(counted({ w1: 19 }, one), {}, 'a worker that no control knows');
  });
});

describe('transports', () => {
  type Changed = { transports?: 'default' | 'polling'; upgradeFailures?: Record<string, number> };
  const carried = (websocket: number, upgraded: number, polling: number, changed: Changed = {}): Changes => ({
    measured: { transports: changed.transports ?? 'default' },
    snapshot: { transports: { websocket, upgraded, polling }, upgradeFailures: changed.upgradeFailures ?? {} },
  });
  const upgradeFailures = { http_400: 9, timeout_open: 1 };
  const failures = ['10 of 600', 'http_400 9', 'timeout_open 1'];

  testRuns([
    ['connections all upgraded', carried(0, 600, 0)],
    ['counts of transports that do not add up', carried(0, 599, 0), ['ACCOUNTS_MISMATCH', 600, 599]],
    ['transports that did not upgrade', carried(0, 590, 10, { upgradeFailures }), ['NOT_UPGRADED', ...failures]],
    ['upgrade to WebSocket without an answer', carried(0, 0, 600), ['NOT_UPGRADED', '600 of 600', 'has not answered']],
    [
      'upgrade to WebSocket not offered by the server',
      carried(0, 0, 600, { upgradeFailures: { no_upgrade: 600 } }),
      ['NOT_UPGRADED', '600 of 600', '`upgrades: []`'],
    ],
    ['connections by polling only', carried(0, 0, 600, { transports: 'polling' })],
  ]);

  it('the result has counts of transports only for connections of this engine', () => {
    assert.deepEqual(run(carried(0, 600, 0)).connections.transports, {
      ...{ configured: 'default', websocket: 0, upgraded: 600, polling: 0, upgradeFailures: {} },
    });
    assert.equal(run({ measured: { engine: 'socketio' } }).connections.transports, null);
  });
});

describe('functions and users of other engines', () => {
  const functions = { received: 9, dropped: 0, failures: { check: 2 }, counters: {} };
  const http = { requests: 5, responses: { 200: 3 }, failures: { econnreset: 1 }, pending: 0 };
  const ofPrice = { event: 'price', seconds: 9, receivers: 5, copies: 490, sent: null };
  const counts = { ...ofPrice, most: 100, fewest: 90, missingAtLeast: 0, missingAtMost: 10 };
  const otherUsers = { started: 9, ended: 9, failures: { econnreset: 1 } };
  testRuns([
    [
      'failed calls of user functions, with the first error',
      { result: { functions }, snapshot: { failureExamples: { function_check: 'price -2' } } },
      ['FUNCTION_FAILED', 'failed for 2 of 9 events: check 2', 'the first: price -2'],
    ],
    [
      'events that came too fast to check',
      { result: { functions: { ...functions, failures: {}, dropped: 7 } } },
      ['FUNCTION_FAILED', '7 events'],
    ],
    [
      'users with different numbers of copies, or none',
      { result: { eventCounts: [{ ...counts, missingAtLeast: 7 }, { ...counts, most: 0, fewest: 0 }, counts] } },
      ['EVENT_COUNTS_DIFFER', '90 to 100 copies', 'at least 7', 'no copy of `price`'],
    ],
    [
      'failed virtual users',
      { result: { otherUsers } },
      ['OTHER_USERS_FAILED', '1 of 9 virtual users', 'econnreset 1'],
    ],
    ['HTTP requests missing from every column', { result: { http } }, ['ACCOUNTS_MISMATCH', 'HTTP requests: 5']],
  ]);
});
