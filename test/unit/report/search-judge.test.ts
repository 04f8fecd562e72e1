import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConditions } from '../../../plugin/cli/parse-conditions.ts';
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { checkConditions } from '../../../report/conditions/conditions.ts';
import { judgeSearchRun } from '../../../report/search/judge.ts';
import { column } from '../../helpers/columns.ts';
import { finding } from '../../helpers/findings.ts';
import { summaryOf } from '../../helpers/message-figures.ts';
import { failing, until, withReasons } from '../../helpers/reasons.ts';
import { perfectResult } from '../../helpers/results.ts';

const DEFAULT = { until: [], vary: 'connections' as const };

/** Case: condition of the search, result of the run, owner of the limit that was reached, and the reason. */
type Case = [plan: typeof DEFAULT | ReturnType<typeof until>, result: Result, blame: string | null, first?: RegExp];

const P99 = 'latency.oneWayMs.p99';
const SLOPE = 'memory.perConnectionBytes.workerPss.slope';
const FAILED = 'connections.failed > 10';

const [LATE, FULL, RATE] = ['GENERATOR_LATE', 'MACHINE_SATURATED', 'RATE_NOT_REACHED'] as const;
const [CHANGED, REFUSED] = ['DEPLOYMENT_CHANGED', 'CONNECTIONS_FAILED'] as const;

/** Returns a result with failures on a server that the run did not start. */
const elsewhere = (target: string, cause: string, ...codes: FindingCode[]) =>
  withReasons([REFUSED, ...codes], (result) => {
    failing(cause)(result);
    Object.assign(result.run, { profile: 'remote', target });
  });
const [HERE, STAGING] = ['http://127.0.0.1:3000', 'https://staging.example.com'];

const rate = { ...until(FAILED), vary: 'rate' as unknown as 'connections' };
const slow = withReasons([], ({ latency }) => (latency.oneWayMs = summaryOf(100, 183.25)));
const few = withReasons([], ({ latency }) => (latency.oneWayMs = { ...summaryOf(50_000, 12), p99: null }));
const unmeasured = withReasons([], ({ latency }) => (latency.oneWayMs = null));
const copies = withReasons(['COPIES_LOST'], ({ delivery }) =>
  Object.assign(delivery ?? {}, { received: 59_000, coverage: 59 / 60 }),
);
const dropped = (timeouts: number, closed: number, ...codes: FindingCode[]) =>
  withReasons(codes.length > 0 ? codes : [CHANGED, 'CONNECTIONS_DROPPED'], ({ connections }) => {
    connections.lost = { 'ping timeout': timeouts, 'transport close': closed };
  });
const curved = withReasons([], ({ memory }) =>
  Object.assign(memory.perConnectionBytes.workerPss as object, { doubt: 'curved' }),
);
/** Result whose rate the generator itself missed, according to the findings. */
const byGenerator = withReasons([], (result) => {
  result.findings = [finding(RATE, 'of 100', { about: 'generator', invalidates: ['connections'] })];
});
/** Returns a result with a delay that explains timeouts: at least a tenth of the shortest timeout. */
const delayed = (cause: string, delayMaxMs: number, ...codes: FindingCode[]) =>
  withReasons([REFUSED, ...codes], (result) => {
    failing(cause)(result);
    Object.assign(result.generator[0] ?? {}, { delayMaxMs });
  });
const mixed = withReasons([REFUSED, FULL], ({ connections }) => {
  connections.failed = 8;
  connections.failures = { http_401: 4, timeout_open: 4 };
});
const idle = withReasons([RATE], ({ generator }) => {
  for (const loop of generator) loop.utilization = loop.window === 'ramp' ? 0.1 : 0.99;
});
const wrongCopies = withReasons(['WRONG_COPIES'], ({ delivery }) => Object.assign(delivery ?? {}, { wrongSize: 3 }));
const timedOut = withReasons([REFUSED], failing('timeout_open'));
const missing = withReasons(['TARGET_NOT_REACHED']);
const full = withReasons([REFUSED, FULL], (result) => {
  failing('timeout_open')(result);
  Object.assign(result.environment.limits, { serverOpenFiles: 300, serverOpenFilesLimit: 300 });
});
/** Returns a result with missing copies and these findings. */
const missed = (...codes: FindingCode[]) =>
  withReasons(codes, ({ delivery }) => Object.assign(delivery ?? {}, { coverage: 0.9 }));
const COPIES = until('delivery.coverage < 1');
const own = (cause: string, ...codes: FindingCode[]) => withReasons([REFUSED, ...codes], failing(cause));

const CASES: Record<string, Case> = {
  'breaks when copies are wrong': [DEFAULT, wrongCopies, 'deployment'],
  'holds with a VALID run': [DEFAULT, perfectResult(), null],
  'holds with doubts about other figures': [DEFAULT, withReasons(['PLATEAUS_UNUSABLE']), null, /PLATEAUS_/],
  'breaks when connections fail': [DEFAULT, own('http_503'), 'deployment', /CONNECTIONS_FAILED$/],
  'breaks when copies are missing': [DEFAULT, copies, 'deployment', /COPIES_LOST/],
  'breaks when connections are lost': [DEFAULT, dropped(3, 0), 'deployment', /DEPLOYMENT_CHANGED$/],
  'breaks below its rate': [DEFAULT, withReasons([RATE]), 'deployment'],
  'breaks below its target': [DEFAULT, missing, 'deployment'],
  'breaks when a worker ends': [DEFAULT, withReasons([CHANGED]), 'deployment'],
  'breaks by a condition': [until(`${P99} > 500`), slow, 'deployment', /500 ms \(it was 733 ms\)$/],
  'holds with fewer failures than allowed': [until(FAILED), timedOut, null],
  'holds with a failure of an unknown code': [until(FAILED), own('of_a_plugin'), null, /CONNECTIONS_FAILED/],
  'holds without broadcasts': [DEFAULT, withReasons([], (result) => (result.delivery = null)), null],
  'holds if no failure of the condition was counted': [until('connections.failures.http_503 > 0'), timedOut, null],
  'never holds with an INVALID run': [until(FAILED), withReasons(['WORKERS_DISAGREE']), 'deployment'],
  'breaks by a slope': [until(`${SLOPE} > 1000`), perfectResult(), 'deployment'],
  'is unknown if the slope is in doubt': [until(`${SLOPE} > 1000`), curved, 'measurement', /not a straight line/],
  'breaks with too few connections': [until(`${P99} > 9000`), missing, 'deployment'],
  'holds with too few connections if a condition allows it': [until(FAILED), missing, null],
  'breaks if the varied rate is not reached': [rate, withReasons([RATE]), 'deployment'],
  'is unknown if a late generator missed the rate': [rate, withReasons([RATE, LATE]), 'generator'],
  'is unknown if the generator itself missed the rate': [rate, byGenerator, 'generator'],
  'a late generator': [DEFAULT, delayed('timeout_tcp', 1000, LATE), 'generator', /GENERATOR_LATE/],
  'a generator that was late by less than a time-out': [DEFAULT, delayed('timeout_tcp', 999, LATE), 'deployment'],
  'resets by a server, while a loop was a little late': [DEFAULT, own('ECONNRESET', LATE, RATE), 'deployment'],
  'time-outs of a server that may open no more files': [DEFAULT, full, 'deployment'],
  'copies that members with a connection lack on a busy machine': [COPIES, missed(FULL), 'deployment'],
  'copies that may only be late on a busy machine': [COPIES, missed(FULL, 'DRAIN_TOO_SHORT'), 'machine'],
  'copies while a loop was a little late': [COPIES, missed(LATE), 'deployment'],
  'a worker that ends, and a rate that a late loop missed': [DEFAULT, withReasons([CHANGED, LATE, RATE]), 'deployment'],
  'a target that a busy machine may have missed': [DEFAULT, withReasons(['TARGET_NOT_REACHED', FULL]), 'machine'],
  'refusals beside time-outs on a busy machine': [DEFAULT, mixed, 'deployment'],
  'time-outs on a busy machine, while a loop was a little late': [DEFAULT, own('timeout_open', LATE, FULL), 'machine'],
  'a fleet process that died': [DEFAULT, own('ECONNRESET', 'FLEET_PROCESS_DIED'), 'generator'],
  'a connect time while a loop was a little late': [
    until('connections.connectMs.p50 > 1'),
    withReasons([LATE]),
    'generator',
  ],
  'drops while a loop was a little late': [DEFAULT, dropped(0, 9, LATE, 'CONNECTIONS_DROPPED'), 'deployment'],
  'a latency while a loop was a little late': [
    until(`${P99} > 500`),
    { ...withReasons([LATE]), latency: slow.latency },
    'generator',
  ],
  'resets by a full server': [DEFAULT, own('ECONNRESET', 'LIMIT_REACHED'), 'deployment'],
  'too many open files of the generator': [
    DEFAULT,
    withReasons(['GENERATOR_FAILED'], failing('EMFILE')),
    'generator',
    /GENERATOR_FAILED/,
  ],
  'its limit': [
    DEFAULT,
    withReasons(['TARGET_NOT_REACHED'], ({ findings }) =>
      findings.unshift(finding('LIMIT_REACHED', 'of files', { about: 'generator', invalidates: ['connections'] })),
    ),
    'generator',
  ],
  'time-outs of a target on the busy machine of the generator': [
    DEFAULT,
    elsewhere(HERE, 'timeout_open', FULL),
    'machine',
  ],
  'time-outs of a target on another machine than the busy generator': [
    DEFAULT,
    elsewhere(STAGING, 'timeout_open', FULL),
    'generator',
  ],
  'a refusal, however busy the machine': [DEFAULT, delayed('namespace_refused', 1000, FULL), 'deployment'],
  'a rate of a loop that was busy later': [rate, idle, 'deployment'],
  'copies of other clients in the room': [
    DEFAULT,
    withReasons([], ({ findings }) => findings.push(finding('WRONG_COPIES', 'a', { about: 'measurement' }))),
    null,
    /^a$/,
  ],
  'a limit with refusals of the server': [DEFAULT, own('http_503', 'LIMIT_REACHED'), 'deployment'],
  'a missed rate while connections vary': [until(FAILED), withReasons([RATE]), null],
  'a missed target while the rate varies': [rate, missing, null],
  'one condition of several on connections': [until(`${P99} > 9000`, FAILED), missing, null],
  'a code of another version': [
    DEFAULT,
    withReasons([], (result) => {
      result.findings = [{ ...finding('GENERATOR_LATE'), code: 'FROM_THE_FUTURE' }];
    }),
    null,
  ],
  'a threshold of the scenario': [
    DEFAULT,
    withReasons([], ({ outcome }) => {
      outcome.thresholds = [{ name: 'p99 < 5', met: false, strict: true, text: 'p99 < 5, found 9' }];
    }),
    'deployment',
    /^p99 < 5, found 9$/,
  ],
  'a failed expectation that a threshold of the scenario replaces': [
    DEFAULT,
    withReasons([], ({ findings }) => findings.push(finding(REFUSED, 'x', { fails: null }))),
    null,
  ],
  'an unsound measurement': [DEFAULT, withReasons(['ACCOUNTS_MISMATCH']), 'measurement', /ACC/],
  'a figure that is missing': [until(`${P99} > 500`), unmeasured, 'measurement', /did not measure it$/],
  'a percentile of too few broadcasts': [until(`${P99} > 500`), few, 'measurement', /needs 100 broadcasts/],
};

describe('the outcome of a level', () => {
  for (const [name, [plan, result, blame, first]] of Object.entries(CASES)) {
    it(`a search judges the run at a level: ${name}`, () => {
      const found = judgeSearchRun(result, plan);
      const outcome = blame === null ? 'holds' : blame === 'deployment' ? 'breaks' : 'cannotTell';
      assert.deepEqual([found.outcome, found.blame], [outcome, blame]);
      if (first) assert.match(found.because[0]?.text ?? '', first);
    });
  }
});

describe('a condition', () => {
  it('a condition supports the operators and the metric names of conditions in `ensure`', () => {
    const result = withReasons([], ({ memory }) => {
      memory.leaks = 0;
    });
    const met = (text: string) => {
      const { conditions, problems } = parseConditions([text]);
      assert.deepEqual(problems, [], text);
      return checkConditions(conditions, result).every((one) => one.met);
    };
    const { peak } = result.connections;
    for (const text of ['memory.leaks == 0', 'memory.leaks = 0', 'memory.leaks != 1', `connections.peak >= ${peak}`]) {
      assert.ok(met(text), text);
    }
    assert.ok(met(`connections.rate == ${result.connections.achievedRatePerSec}`));
    assert.ok(met('connections.connect_time.p50 > 0'));
    assert.ok(!met('memory.leaks != 0'));
  });

  it('refuses a condition with an unknown key, suggests the nearest key, and reports all problems together', () => {
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
