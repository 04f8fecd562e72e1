/** Whether a level held, and what broke it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConditions } from '../../../plugin/cli/conditions.ts';
import type { ReasonCode } from '../../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { judge } from '../../../report/search/judge.ts';
import { column } from '../../helpers/columns.ts';
import { summaryOf } from '../../helpers/message-figures.ts';
import { failing, until, withReasons } from '../../helpers/reasons.ts';
import { perfectResult } from '../../helpers/results.ts';

const DEFAULT = { until: [], vary: 'connections' as const };

/** What varies and until when, what the run was like, and what follows: the outcome, whose limit it was, and why. */
type Case = [
  plan: typeof DEFAULT | ReturnType<typeof until>,
  result: Result,
  outcome: string,
  blame: string | null,
  first?: RegExp,
];

const P99 = 'latency.oneWayMs.p99';
const SLOPE = 'memory.perConnectionBytes.workerPss.slope';
const FAILED = 'connections.failed > 10';

/** The verdict of a server that the run did not start. */
const elsewhere = (target: string, cause: string, ...codes: ReasonCode[]) =>
  withReasons(['CONNECTIONS_FAILED', ...codes], (result) => {
    failing(cause)(result);
    Object.assign(result.run, { profile: 'remote', target });
  });
const [HERE, STAGING] = ['http://127.0.0.1:3000', 'https://staging.example.com'];

const rate = { ...until(FAILED), vary: 'rate' as unknown as 'connections' };
const slow = withReasons([], ({ latency }) => (latency.oneWayMs = summaryOf(100, 183.25)));
const few = withReasons([], ({ latency }) => (latency.oneWayMs = { ...summaryOf(50_000, 12), p99: null }));
const unmeasured = withReasons([], ({ latency }) => (latency.oneWayMs = null));
const copies = withReasons([], ({ delivery }) =>
  Object.assign(delivery ?? {}, { received: 59_000, coverage: 59 / 60 }),
);
const dropped = (timeouts: number, closed: number) =>
  withReasons(['DEPLOYMENT_CHANGED', 'CONNECTIONS_DROPPED'], ({ connections }) => {
    connections.lost = { 'ping timeout': timeouts, 'transport close': closed };
  });
const curved = withReasons([], ({ memory }) =>
  Object.assign(memory.perConnectionBytes.workerPss as object, { doubt: 'curved' }),
);
const busy = (code: ReasonCode, utilization: number) =>
  withReasons([code], (result) => {
    result.generator = result.generator.map((loop) => ({ ...loop, utilization }));
  });
const throttled = (throttledPeriods: number) =>
  withReasons(['RATE_NOT_REACHED'], ({ machine }) => {
    const ramp = { cores: 0.12, periods: 100, throttledPeriods, throttledMs: 1 };
    Object.assign(machine ?? {}, { throttled: { ramp, messages: null, broadcasts: null } });
  });
/** So late, by a tenth of the shortest time-out or more, that a time-out notices. */
const delayed = (result: Result, delayMaxMs = 1000) => {
  Object.assign(result.generator[0] ?? {}, { delayMaxMs });
  return result;
};
const mixed = withReasons(['CONNECTIONS_FAILED', 'GENERATOR_LATE'], (result) => {
  const { connections } = delayed(result);
  connections.failed = 8;
  connections.failures = { http_401: 4, timeout_open: 4 };
});
const idle = withReasons(['RATE_NOT_REACHED'], (result) => {
  const utilization = (window: string) => (window === 'ramp' ? 0.1 : 0.99);
  result.generator = result.generator.map((loop) => ({ ...loop, utilization: utilization(loop.window) }));
});
const wrongCopies = (counts: object) =>
  withReasons(['WRONG_COPIES'], ({ delivery }) =>
    Object.assign(delivery ?? {}, { duplicates: 0, late: 0, wrongSize: 0, wrongContent: 0, ...counts }),
  );
/** Copies that are this deployment's: of one kind, or of two. */
const WRONG: Record<string, Case> = Object.fromEntries(
  ['duplicates', 'late', 'wrongSize', 'wrongContent'].flatMap((column, index, all) =>
    [[column], [column, all[index + 1] ?? 'late']].map((columns): [string, Case] => {
      const counts = Object.fromEntries(columns.map((one) => [one, 3]));
      return [`copies: ${columns.join(' and ')}`, [DEFAULT, wrongCopies(counts), 'breaks', 'deployment']];
    }),
  ),
);
const gone = withReasons(['DEPLOYMENT_CHANGED'], ({ connections }) => (connections.lost = { 'ping timeout': 3 }));
const refusedBelow = withReasons(['LIMIT_REACHED'], failing('http_503'));
const timedOut = withReasons(['CONNECTIONS_FAILED'], failing('timeout_open'));
const missing = withReasons(['TARGET_NOT_REACHED']);
const full = withReasons(['CONNECTIONS_FAILED', 'MACHINE_SATURATED'], (result) => {
  failing('timeout_open')(result);
  Object.assign(result.environment.limits, { serverOpenFiles: 300, serverOpenFilesLimit: 300 });
});
/** Copies are missing, for whatever reason. */
const missed = (...codes: ReasonCode[]) =>
  withReasons(codes, ({ delivery }) => Object.assign(delivery ?? {}, { coverage: 0.9 }));
const COPIES = until('delivery.coverage < 1');
const own = (cause: string, ...codes: ReasonCode[]) => withReasons(['CONNECTIONS_FAILED', ...codes], failing(cause));

const CASES: Record<string, Case> = {
  ...WRONG,
  'holds with a VALID run': [DEFAULT, perfectResult(), 'holds', null],
  'holds with doubts that do not concern it': [
    DEFAULT,
    withReasons(['PLATEAUS_UNUSABLE']),
    'holds',
    null,
    /^PLATEAUS_/,
  ],
  'breaks when connections fail': [DEFAULT, own('http_503'), 'breaks', 'deployment', /^7 connections failed$/],
  'breaks when copies are missing': [DEFAULT, copies, 'breaks', 'deployment', /98\.33 %/],
  'breaks when connections are lost': [
    DEFAULT,
    dropped(3, 0),
    'breaks',
    'deployment',
    /^3 connections of .* were lost$/,
  ],
  'breaks when one is lost': [DEFAULT, dropped(0, 1), 'breaks', 'deployment', /^1 connection of .* was lost$/],
  'breaks when nobody knows how many': [DEFAULT, dropped(0, 0), 'breaks', 'deployment', /^DEPLOYMENT_CHANGED: /],
  'breaks below its rate': [DEFAULT, withReasons(['RATE_NOT_REACHED']), 'breaks', 'deployment'],
  'breaks below its target': [DEFAULT, missing, 'breaks', 'deployment'],
  'breaks when a worker ends': [DEFAULT, withReasons(['DEPLOYMENT_CHANGED']), 'breaks', 'deployment'],
  'breaks by a condition': [until(`${P99} > 500`), slow, 'breaks', 'deployment', /500 ms \(it was 733 ms\)$/],
  'breaks by little': [until(`${P99} > 732.9`), slow, 'breaks', 'deployment', /\(it was 0\.01 % more\)$/],
  'holds below a condition': [until(`${P99} > 800`), slow, 'holds', null],
  'holds with fewer failures than allowed': [until(FAILED), timedOut, 'holds', null],
  'holds with a failure that nobody knows': [until(FAILED), own('of_a_plugin'), 'holds', null, /^CONNECTIONS_FAILED/],
  'holds without broadcasts': [DEFAULT, withReasons([], (result) => (result.delivery = null)), 'holds', null],
  'holds where none was counted': [until('connections.failures.http_503 > 0'), timedOut, 'holds', null],
  'never holds INVALID': [until(FAILED), withReasons(['DEPLOYMENT_CHANGED']), 'breaks', 'deployment'],
  'breaks by a slope': [until(`${SLOPE} > 1000`), perfectResult(), 'breaks', 'deployment'],
  'has no doubted slope': [until(`${SLOPE} > 1000`), curved, 'cannotTell', 'measurement', /not a straight line/],
  'has too few connections': [until(`${P99} > 9000`), missing, 'breaks', 'deployment'],
  'may have fewer if a condition says so': [until(FAILED), missing, 'holds', null],
  'does not reach its rate': [rate, withReasons(['RATE_NOT_REACHED']), 'breaks', 'deployment'],
  'nor by a late generator': [rate, withReasons(['RATE_NOT_REACHED', 'GENERATOR_LATE']), 'cannotTell', 'generator'],
  'nor by a busy one': [rate, busy('RATE_NOT_REACHED', 0.9), 'cannotTell', 'generator'],
  'by one that was not quite busy': [rate, busy('RATE_NOT_REACHED', 0.89), 'breaks', 'deployment'],
  'loses connections, however busy the generator': [DEFAULT, busy('CONNECTIONS_DROPPED', 0.99), 'breaks', 'deployment'],
  'nor by a throttled one': [rate, throttled(6), 'cannotTell', 'generator'],
  'by one that was hardly throttled': [rate, throttled(5), 'breaks', 'deployment'],
  'a late generator': [
    DEFAULT,
    delayed(own('timeout_tcp', 'GENERATOR_LATE')),
    'cannotTell',
    'generator',
    /^GENERATOR_LATE/,
  ],
  'a generator that was late by less than a time-out': [
    DEFAULT,
    delayed(own('timeout_tcp', 'GENERATOR_LATE'), 999),
    'breaks',
    'deployment',
  ],
  'resets by a server, while a loop was a little late': [
    DEFAULT,
    own('ECONNRESET', 'GENERATOR_LATE', 'RATE_NOT_REACHED'),
    'breaks',
    'deployment',
    /^7 connections failed$/,
  ],
  'resets on a busy machine': [DEFAULT, own('ECONNRESET', 'MACHINE_SATURATED'), 'breaks', 'deployment'],
  'time-outs of a server that may open no more files': [DEFAULT, full, 'breaks', 'deployment'],
  ...Object.fromEntries(
    ['ECONNRESET', 'http_401', 'full'].map((cause): [string, Case] => {
      const result = missed('CONNECTIONS_FAILED', 'MACHINE_SATURATED');
      if (cause === 'full') result.environment.limits = full.environment.limits;
      else failing(cause)(result);
      return [`copies that a busy machine may have lost: ${cause}`, [COPIES, result, 'cannotTell', 'machine']];
    }),
  ),
  'copies while a loop was a little late': [COPIES, missed('GENERATOR_LATE'), 'breaks', 'deployment'],
  'a worker that ends, and a rate that a late loop missed': [
    DEFAULT,
    withReasons(['DEPLOYMENT_CHANGED', 'GENERATOR_LATE', 'RATE_NOT_REACHED']),
    'breaks',
    'deployment',
  ],
  'a target that a busy machine may have missed': [
    DEFAULT,
    withReasons(['TARGET_NOT_REACHED', 'MACHINE_SATURATED']),
    'cannotTell',
    'machine',
  ],
  'resets beside time-outs on a busy machine': [
    DEFAULT,
    withReasons(['CONNECTIONS_FAILED', 'MACHINE_SATURATED'], ({ connections }) => {
      Object.assign(connections, { failed: 7, failures: { ECONNRESET: 3, timeout_open: 4 } });
    }),
    'cannotTell',
    'machine',
  ],
  'resets on a busy machine, by an engine that does not tell its delays': [
    DEFAULT,
    withReasons(['CONNECTIONS_FAILED', 'MACHINE_SATURATED'], (result) => {
      failing('ECONNRESET')(result);
      result.generator = [];
    }),
    'cannotTell',
    'machine',
  ],
  'time-outs on a busy machine, while a loop was a little late': [
    DEFAULT,
    own('timeout_open', 'GENERATOR_LATE', 'MACHINE_SATURATED'),
    'cannotTell',
    'machine',
  ],
  'a fleet process that died': [DEFAULT, own('ECONNRESET', 'FLEET_PROCESS_DIED'), 'cannotTell', 'generator'],
  'one that was silent': [DEFAULT, own('ECONNRESET', 'GENERATOR_SILENT'), 'cannotTell', 'generator'],
  ...Object.fromEntries(
    ['connections.connectMs.p50 > 1', 'connections.achievedRatePerSec < 1e9'].map((condition): [string, Case] => [
      `${condition} while a loop was a little late`,
      [until(condition), withReasons(['GENERATOR_LATE']), 'cannotTell', 'generator'],
    ]),
  ),
  'time-outs on a busy machine': [DEFAULT, own('timeout_open', 'MACHINE_SATURATED'), 'cannotTell', 'machine'],
  'drops while a loop was a little late': [
    DEFAULT,
    withReasons(
      ['CONNECTIONS_DROPPED', 'GENERATOR_LATE'],
      ({ connections }) => (connections.lost = { 'transport close': 9 }),
    ),
    'breaks',
    'deployment',
  ],
  'a latency while a loop was a little late': [
    until(`${P99} > 500`),
    withReasons(['GENERATOR_LATE'], ({ latency }) => (latency.oneWayMs = summaryOf(100, 183.25))),
    'cannotTell',
    'generator',
  ],
  'a full server': [DEFAULT, own('ECONNRESET', 'LIMIT_REACHED'), 'breaks', 'deployment'],
  'a late generator that broke nothing': [DEFAULT, withReasons(['GENERATOR_LATE', 'MACHINE_SATURATED']), 'holds', null],
  'its open files': [DEFAULT, own('EMFILE'), 'cannotTell', 'generator', /^EMFILE: 7 connections failed$/],
  'its limit': [DEFAULT, withReasons(['LIMIT_REACHED', 'TARGET_NOT_REACHED']), 'cannotTell', 'generator'],
  'its silence': [DEFAULT, withReasons(['GENERATOR_SILENT']), 'cannotTell', 'generator'],
  'a shared machine': [DEFAULT, elsewhere(HERE, 'timeout_open', 'MACHINE_SATURATED'), 'cannotTell', 'machine'],
  'a machine of its own': [DEFAULT, elsewhere(STAGING, 'timeout_open', 'MACHINE_SATURATED'), 'cannotTell', 'generator'],
  'a refusal, however busy the machine': [
    DEFAULT,
    delayed(own('namespace_refused', 'MACHINE_SATURATED')),
    'breaks',
    'deployment',
  ],
  'a refusal for the rate': [DEFAULT, delayed(own('http_429', 'MACHINE_SATURATED')), 'breaks', 'deployment'],
  'an error of a busy server': [DEFAULT, own('http_503', 'MACHINE_SATURATED'), 'cannotTell', 'machine'],
  'open files of a shared machine': [DEFAULT, own('ENFILE'), 'cannotTell', 'machine', /^ENFILE/],
  'open files of another machine': [DEFAULT, elsewhere(STAGING, 'ENFILE'), 'cannotTell', 'generator'],
  'a refusal beside other failures': [DEFAULT, mixed, 'cannotTell', 'generator'],
  'a rate of a loop that was busy later': [rate, idle, 'breaks', 'deployment'],
  'copies of others in the room': [DEFAULT, wrongCopies({}), 'holds', null, /^WRONG_COPIES/],
  'a limit with refusals of the server': [DEFAULT, refusedBelow, 'breaks', 'deployment'],
  'losses by what ended a worker': [DEFAULT, gone, 'breaks', 'deployment', /^DEPLOYMENT_CHANGED/],
  'a missed rate while connections vary': [until(FAILED), withReasons(['RATE_NOT_REACHED']), 'holds', null],
  'a missed target while the rate varies': [rate, missing, 'holds', null],
  'a missed target while nothing is said of connections': [
    { ...until(`${P99} > 9000`), vary: 'rate' as unknown as 'connections' },
    missing,
    'holds',
    null,
  ],
  'one condition of several on connections': [until(`${P99} > 9000`, FAILED), missing, 'holds', null],
  'a code of another version': [
    DEFAULT,
    withReasons([], ({ verdict }) => (verdict.reasons = [{ code: 'FROM_THE_FUTURE', message: 'unknown' }] as never)),
    'holds',
    null,
    /^FROM_THE_FUTURE/,
  ],
  'an unsound measurement': [DEFAULT, withReasons(['ACCOUNTS_MISMATCH']), 'cannotTell', 'measurement', /^ACC/],
  'a figure that is missing': [until(`${P99} > 500`), unmeasured, 'cannotTell', 'measurement', /did not measure it$/],
  'a percentile of too few': [until(`${P99} > 500`), few, 'cannotTell', 'measurement', /needs 100 broadcasts/],
};

describe('a level', () => {
  for (const [name, [plan, result, outcome, blame, first]] of Object.entries(CASES)) {
    it(name, () => {
      const found = judge(result, plan);
      assert.deepEqual([found.outcome, found.blame], [outcome, blame]);
      if (first) assert.match(found.because[0] ?? '', first);
    });
  }
});

describe('a condition', () => {
  it('is refused with the nearest key when it names none of the result, all together', () => {
    const { conditions, problems } = parseConditions([
      'latency.oneWay.p99 > 500',
      'coverage < 1',
      'cpu.worker.idlePercent >= 20',
      'delivery.coverage',
      'nonsense > 1',
    ]);
    assert.deepEqual(conditions, [{ key: 'cpu.worker.idlePercent', comparison: '>=', value: 20 }]);
    assert.deepEqual(column(problems, 'message'), [
      'the result has no number "latency.oneWay.p99", did you mean "latency.oneWayMs.p99"?',
      'the result has no number "coverage", did you mean "delivery.coverage"?',
      'expected a key of the result, a comparison and a number: "delivery.coverage < 1"',
      'the result has no number "nonsense"',
    ]);
  });
});
