/** Whether a level held, and what broke it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConditions } from '../../../plugin/cli/conditions.ts';
import { FAILURE_CODES } from '../../../protocol/codes/failure-codes.ts';
import { type ReasonCode, VERDICT_REASONS } from '../../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { evidenceOf } from '../../../report/search/evidence.ts';
import { judge } from '../../../report/search/judge.ts';
import { perfectResult, summaryOf } from '../../helpers/results.ts';
import { assertNames } from '../../helpers/verdict.ts';

const DEFAULT = { until: [], vary: 'connections' as const };

function withReasons(codes: ReasonCode[], change: (result: Result) => void = () => {}): Result {
  const result = perfectResult();
  const invalid = codes.some((code) => VERDICT_REASONS[code].invalidates.includes('run'));
  const status = codes.length === 0 ? 'VALID' : invalid ? 'INVALID' : 'SUSPECT';
  result.verdict = { status, reasons: codes.map((code) => ({ code, message: `about ${code}` })) };
  change(result);
  return result;
}

function until(...texts: string[]) {
  const { conditions, problems } = parseConditions(texts);
  assert.deepEqual(problems, []);
  return { until: conditions, vary: 'connections' as const };
}

function failing(cause: string, count = 7) {
  return ({ connections }: Result) => {
    connections.failed = count;
    connections.failures = { [cause]: count };
  };
}

describe('a level', () => {
  it('holds with a VALID run, and with doubts that do not concern capacity', () => {
    assert.deepEqual(judge(perfectResult(), DEFAULT), { outcome: 'holds', blame: null, because: [] });
    const { outcome, because } = judge(withReasons(['TOO_FEW_PLATEAUS', 'PLATEAU_MOVED']), DEFAULT);
    assert.deepEqual(
      [outcome, because],
      ['holds', ['TOO_FEW_PLATEAUS: about TOO_FEW_PLATEAUS', 'PLATEAU_MOVED: about PLATEAU_MOVED']],
    );
  });

  it('breaks by default when connections fail or are lost, copies are missing, or the verdict blames the deployment', () => {
    const failed = judge(withReasons(['CONNECTIONS_FAILED'], failing('http_503')), DEFAULT);
    assert.deepEqual([failed.outcome, failed.because[0]], ['breaks', '7 connections failed']);
    const missing = withReasons([], ({ delivery }) =>
      Object.assign(delivery ?? {}, { received: 59_000, coverage: 59 / 60 }),
    );
    assert.match(judge(missing, DEFAULT).because[0] ?? '', /^only 98\.33 % of/);
    const lost = withReasons(['CONNECTIONS_DROPPED'], ({ connections }) => (connections.lost = { 'ping timeout': 3 }));
    assert.equal(judge(lost, DEFAULT).because[0], '3 connections of 5,000 opened ones were lost');
    for (const code of ['RATE_NOT_REACHED', 'DEPLOYMENT_CHANGED', 'TARGET_NOT_REACHED'] as const) {
      assert.equal(judge(withReasons([code]), DEFAULT).outcome, 'breaks', code);
    }
  });

  it('breaks by the conditions that are given, in place of the default ones', () => {
    const slow = withReasons([], ({ latency }) => (latency.oneWayMs = summaryOf(100, 183.25)));
    const { outcome, because } = judge(slow, until('latency.oneWayMs.p99 > 500'));
    assert.deepEqual([outcome, because], ['breaks', ['one way p99 exceeded 500 ms (it was 733 ms)']]);
    assert.equal(judge(slow, until('latency.oneWayMs.p99 > 800')).outcome, 'holds');
    const close = judge(slow, until('latency.oneWayMs.p99 > 732.9'));
    assert.match(close.because[0] ?? '', /^one way p99 exceeded 733 ms \(it was 0\.01 % more\)$/);
    const few = withReasons(['CONNECTIONS_FAILED'], failing('timeout_open'));
    assert.equal(judge(few, until('connections.failed > 10')).outcome, 'holds');
    assert.equal(judge(few, until('connections.failures.http_503 > 0')).outcome, 'holds', 'none counted is zero');
    assert.equal(judge(withReasons(['DEPLOYMENT_CHANGED']), until('connections.failed > 10')).outcome, 'breaks');
  });

  it('is not judged by a slope that may not be quoted', () => {
    const condition = until('memory.perConnectionBytes.workerPss.slope > 1000');
    assert.equal(judge(perfectResult(), condition).outcome, 'breaks');
    const doubted = withReasons([], ({ memory }) =>
      Object.assign(memory.perConnectionBytes.workerPss as object, { doubt: 'curved' }),
    );
    assert.deepEqual(judge(doubted, condition), {
      outcome: 'cannotTell',
      blame: 'measurement',
      because: ['`memory.perConnectionBytes.workerPss.slope > 1000`: it may not be quoted: not a straight line'],
    });
  });

  it('does not hold where connections are missing, unless a condition says how many may be', () => {
    const missing = withReasons(['TARGET_NOT_REACHED']);
    assert.equal(judge(missing, until('latency.oneWayMs.p99 > 500')).outcome, 'breaks');
    assert.equal(judge(missing, until('connections.failed > 10')).outcome, 'holds');
  });

  it('does not reach a rate that it does not reach, whatever else is asked', () => {
    const rate = { ...until('connections.failed > 10'), vary: 'rate' as const };
    assert.equal(judge(withReasons(['RATE_NOT_REACHED']), rate).outcome, 'breaks');
    const late = judge(withReasons(['RATE_NOT_REACHED', 'GENERATOR_LATE']), rate);
    assert.deepEqual([late.outcome, late.blame], ['cannotTell', 'generator']);
    const busy = withReasons(['RATE_NOT_REACHED'], (result) => {
      result.generator = result.generator.map((loop) => ({ ...loop, utilization: 0.99 }));
    });
    assert.equal(judge(busy, rate).blame, 'generator');
  });

  it('cannot be told where the generator was the limit, but has held where nothing broke in spite of it', () => {
    const late = judge(withReasons(['GENERATOR_LATE', 'CONNECTIONS_FAILED'], failing('timeout_tcp')), DEFAULT);
    assert.deepEqual(
      [late.outcome, late.blame, late.because[0]],
      ['cannotTell', 'generator', 'GENERATOR_LATE: about GENERATOR_LATE'],
    );
    assert.equal(judge(withReasons(['GENERATOR_LATE', 'MACHINE_SATURATED']), DEFAULT).outcome, 'holds');
    const files = judge(withReasons(['CONNECTIONS_FAILED'], failing('EMFILE')), DEFAULT);
    assert.deepEqual([files.blame, files.because[0]], ['generator', 'EMFILE: 7 connections failed']);
    assert.equal(judge(withReasons(['LIMIT_REACHED', 'TARGET_NOT_REACHED']), DEFAULT).blame, 'generator');
    assert.equal(judge(withReasons(['GENERATOR_SILENT']), DEFAULT).blame, 'generator');
  });

  it('has the limit of the machine where both share it, and of the generator where they do not', () => {
    const saturated = (target: string) =>
      withReasons(['MACHINE_SATURATED', 'CONNECTIONS_FAILED'], (result) => {
        failing('timeout_open')(result);
        Object.assign(result.run, { profile: 'remote', target });
      });
    assert.equal(judge(saturated('http://127.0.0.1:3000'), DEFAULT).blame, 'machine');
    assert.equal(judge(saturated('https://staging.example.com'), DEFAULT).blame, 'generator');
  });

  it('breaks where the server itself refuses, however busy the machine is', () => {
    const refused = judge(
      withReasons(['CONNECTIONS_FAILED', 'MACHINE_SATURATED'], failing('namespace_refused')),
      DEFAULT,
    );
    assert.deepEqual([refused.outcome, refused.blame], ['breaks', 'deployment']);
  });

  it('cannot be told from a measurement that is not sound, or that lacks the figure', () => {
    assert.equal(judge(withReasons(['ACCOUNTS_MISMATCH']), DEFAULT).blame, 'measurement');
    const unmeasured = withReasons([], ({ latency }) => (latency.oneWayMs = null));
    const { blame, because } = judge(unmeasured, until('latency.oneWayMs.p99 > 500'));
    assert.deepEqual([blame, because], ['measurement', ['`latency.oneWayMs.p99 > 500`: the run did not measure it']]);
    const few = withReasons([], ({ latency }) => {
      latency.oneWayMs = { ...summaryOf(50_000, 12), p99: null };
    });
    assert.deepEqual(judge(few, until('latency.oneWayMs.p99 > 500')).because, [
      '`latency.oneWayMs.p99 > 500`: it needs 100 broadcasts, and the run has fewer',
    ]);
  });
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
    assert.deepEqual(
      problems.map(({ message }) => message),
      [
        'the result has no number "latency.oneWay.p99", did you mean "latency.oneWayMs.p99"?',
        'the result has no number "coverage", did you mean "delivery.coverage"?',
        'expected a key of the result, a comparison and a number: "delivery.coverage < 1"',
        'the result has no number "nonsense"',
      ],
    );
  });
});

describe('the evidence', () => {
  it('is none in a run in which nothing was near a limit', () => {
    const result = perfectResult();
    result.latency.completionMs = summaryOf(12, 555);
    assert.deepEqual(evidenceOf(result), []);
  });

  it('names what ended, and what refused', () => {
    const result = withReasons(['DEPLOYMENT_CHANGED', 'CONNECTIONS_FAILED'], failing('http_502'));
    result.connections.lost = { 'transport close': 40, 'ping timeout': 2 };
    result.latency.completionMs = null;
    const [changed, refused, ended] = evidenceOf(result);
    assert.equal(changed, 'about DEPLOYMENT_CHANGED');
    assertNames(refused, ['7 connections', 'http_502', FAILURE_CODES.http_502?.meaning ?? '']);
    assertNames(ended, ['40 connections', 'transport close']);
  });

  it('names workers whose cores were full while the load came, not while garbage was collected', () => {
    const result = perfectResult();
    result.latency.completionMs = null;
    result.stages = [
      { name: 'baseline', t: 0 },
      { name: 'ramp', t: 10 },
      { name: 'plateau', t: 14 },
      { name: 'broadcasts', t: 20 },
      { name: 'drain', t: 24 },
    ];
    const sample = (t: number, cpuPercent: number) => ({ t, connections: 5000, worker: { cpuPercent } });
    const idle = [11, 12, 13, 14].map((t) => sample(t, 60));
    const collecting = [15, 16, 17].map((t) => sample(t, 200));
    result.samples = [...idle, ...collecting, ...[21, 22, 23, 24].map((t) => sample(t, 196))];
    assert.deepEqual(evidenceOf(result), [
      'worker CPU was at 98 % of a core in each of 2 workers (stage `broadcasts`)',
    ]);
    result.samples = [...idle, ...collecting];
    assert.deepEqual(evidenceOf(result), []);
  });

  it('names the CPU that one broadcast takes, the memory, the files and the output of Redis', () => {
    const result = perfectResult();
    result.latency.completionMs = summaryOf(12, 40);
    const { memoryBytes } = result.environment;
    result.memory.peakBytes.systemUsed = memoryBytes * 0.97;
    result.environment.limits.openFilesHard = 2510;
    result.samples = [{ t: 1, connections: 0, redisServer: { outputBufferBytes: 12 * 2 ** 20 } }];
    assert.deepEqual(evidenceOf(result), [
      'a broadcast takes each of 2 workers 29 ms of CPU, of 40 ms until it has reached everybody',
      '7,946.2 of 8,192.0 MB of the machine’s memory were in use',
      'a worker held 2,500 connections, and may open 2,510 files',
      '12.0 MB of Redis’s output waited for the workers',
    ]);
  });
});
