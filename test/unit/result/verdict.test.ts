import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { evaluate } from '../../../plugin/result/verdict.ts';
import type { Measurements } from '../../../plugin/run/measurements/measurements.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { measurements, sent, snapshot } from '../../helpers/measurements.ts';
import { generatorHost, perfectResult, summaryOf } from '../../helpers/results.ts';

const worker = { worker: 'w0', pid: 10 };
const eventLoop = { utilization: 0, delayP50Ms: 0, delayP99Ms: 0, delayMaxMs: 0, cpuWaitShare: 0 };
const deadProcess = {
  pid: 9,
  index: 0,
  alive: false,
  answers: false,
  connections: 5,
  rssBytes: 1,
  cpuUs: 1,
  eventLoop,
};

function verdictOf(change: (result: Result, measurements: Measurements) => void = () => {}) {
  const result = perfectResult();
  const measured = measurements({ workersAtStart: [worker], workersAtEnd: [worker] });
  change(result, measured);
  const { status, reasons } = evaluate(measured, result);
  return { status, codes: reasons.map(({ code }) => code), reasons };
}

const clock = (changes: object) => ({
  worker: 'w0',
  offsetUs: 9e9,
  uncertaintyUs: 100,
  driftUs: 0,
  jumpUs: 0,
  ...changes,
});

/** It brought the whole load. */
function ownHost({ connections }: Result, boundMs: number): Result['generators'][number] {
  const { opened, held } = connections;
  return { ...generatorHost('a', { share: 1, boundMs }), connections: opened, held: held ?? 0 };
}

function batch(result: Result) {
  const [first] = result.delivery?.batches ?? [];
  assert.ok(first);
  return first;
}

function nobodyJoined(result: Result): void {
  for (const one of result.delivery?.batches ?? []) Object.assign(one, { expected: 0, received: 0, serverMembers: 0 });
}

/** Connections that cost three times as much at the end as at the beginning. */
function bendMemory({ memory }: Result): void {
  for (const plateau of memory.plateaus) plateau.workerPss = 1e8 + plateau.connections * (5000 + plateau.connections);
  Object.assign(memory.perConnectionBytes.workerPss ?? {}, { doubt: 'curved' });
}

/** Nothing idle while it ramped; everybody waited for that share of what they wanted. */
function saturate({ machine, generator }: Result, cpuWaitShare: number): void {
  Object.assign(machine?.cpuIdlePercent ?? {}, { ramp: 9 });
  for (const loop of generator) loop.cpuWaitShare = cpuWaitShare;
}

/** Of 1,000 periods of the broadcasts. */
function throttle({ machine }: Result, throttledPeriods: number): void {
  const broadcasts = { cores: 0.5, periods: 1000, throttledPeriods, throttledMs: 10 };
  Object.assign(machine ?? {}, { throttled: { ramp: null, messages: null, broadcasts } });
}

/** Receivers behind the sentinel, by four times the median (p99), and a fleet process that stood still meanwhile. */
function lagBehind({ latency, generator }: Result, medianMs: number, delayMaxMs: number): void {
  latency.behindSentinelMs = summaryOf(6, medianMs);
  const loop = generator.find(({ window, part }) => window === 'broadcasts' && part === 'fleet');
  Object.assign(loop ?? {}, { delayMaxMs });
}

/** One every 100 ms is planned. */
function sentLate(seq: number, lateMs: number): Measurements['sent'][number] {
  const intendedAtUs = seq * 100_000;
  return { ...sent(seq, 5000), intendedAtUs, sentAtUs: intendedAtUs + lateMs * 1000 };
}

/** Three fleet processes that hold so many connections each, of 5,000 that were asked for. */
function stopAt(held: number[]) {
  return (result: Result, measured: Measurements) => {
    const processes = held.map((connections, index) => ({
      ...deadProcess,
      index,
      alive: true,
      answers: true,
      connections,
    }));
    measured.snapshots.push(snapshot({ processes }));
    result.connections.peak = held.reduce((total, connections) => total + connections, 0);
  };
}

describe('verdict', () => {
  it('is VALID when nothing speaks against it', () => {
    assert.deepEqual(verdictOf(), { status: 'VALID', codes: [], reasons: [] });
  });

  const cases: [string, string, (result: Result, measurements: Measurements) => void][] = [
    ['RUN_INCOMPLETE', 'INVALID', (_, f) => (f.aborted = { code: 'RUN_INCOMPLETE', message: 'stopped' })],
    ['NO_CONNECTIONS', 'INVALID', (r) => (r.connections.peak = 0)],
    ['LEDGER_MISMATCH', 'INVALID', (r) => batch(r).received--],
    ['COUNTS_DISAGREE', 'INVALID', (r) => (batch(r).serverMembers = 4990)],
    ['WORKER_RESTARTED', 'INVALID', (_, f) => (f.workersAtEnd = [{ ...worker, pid: 11 }])],
    ['REDIS_GONE', 'INVALID', (_, f) => f.warnings.push({ code: 'REDIS_GONE', message: '' })],
    ['CONNECTIONS_FAILED', 'SUSPECT', (r) => Object.assign(r.connections, { failed: 2, failures: { EMFILE: 2 } })],
    ['RATE_NOT_REACHED', 'SUSPECT', (r) => (r.connections.achievedRatePerSec = 474)],
    ['BROADCAST_NOT_SENT', 'SUSPECT', (_, f) => f.unsent.push({ seq: 1, message: 'no' })],
    ['BROADCASTS_LATE', 'SUSPECT', (_, f) => f.sent.push(...[1, 2, 3].map((seq) => sentLate(seq, 90)))],
    ['NOBODY_EXPECTED', 'SUSPECT', (r) => nobodyJoined(r)],
    ['DUPLICATE_RECEIPTS', 'SUSPECT', (r) => (batch(r).duplicates = 4)],
    ['GENERATOR_LAGS', 'SUSPECT', (r) => Object.assign(r.generator[0] ?? {}, { delayP99Ms: 51 })],
    ['GENERATOR_QUEUES', 'SUSPECT', (r) => lagBehind(r, 20, 50)],
    ['MACHINE_SATURATED', 'SUSPECT', (r) => saturate(r, 0.9)],
    ['CPU_THROTTLED', 'SUSPECT', (r) => throttle(r, 60)],
    ['SWAPPING', 'SUSPECT', (r) => Object.assign(r.machine ?? {}, { swappedOutBytes: 2 ** 21 })],
    ['SAMPLER_GAPS', 'SUSPECT', (r) => Object.assign(r.sampling ?? {}, { missed: 7 })],
    ['SAMPLER_GAPS', 'SUSPECT', (r) => Object.assign(r.sampling ?? {}, { longestGapMs: 5100 })],
    ['SAMPLER_GAPS', 'SUSPECT', (r) => Object.assign(r.sampling ?? {}, { failures: { redis: 8 } })],
    ['METRICS_GONE', 'SUSPECT', (_, f) => f.warnings.push({ code: 'METRICS_GONE', message: '' })],
    ['MEMORY_MISSING', 'SUSPECT', (r) => delete r.memory.plateaus.at(-1)?.workerRss],
    [
      'TOO_FEW_PLATEAUS',
      'SUSPECT',
      (_, f) => (f.plateaus = [0, 10, 10].map((connections) => ({ connections, layers: {} }))),
    ],
    ['SENTINEL_MISSING', 'SUSPECT', (_, f) => f.warnings.push({ code: 'SENTINEL_MISSING', message: '' })],
    ['FLEET_PROCESS_DIED', 'SUSPECT', (_, f) => f.snapshots.push(snapshot({ processes: [deadProcess] }))],
    ['CLOCK_UNCERTAIN', 'SUSPECT', (r) => r.latency.clocks.push(clock({ uncertaintyUs: 1500 }))],
    ['CLOCK_UNCERTAIN', 'SUSPECT', (r) => r.generators.push(ownHost(r, 1.5))],
    ['MEMORY_GROWS', 'SUSPECT', (r) => Object.assign(r.memory.perConnectionBytes.workerPss ?? {}, { doubt: 'grows' })],
    ['MEMORY_NOT_LINEAR', 'SUSPECT', (r) => bendMemory(r)],
    ['PLATEAU_MOVED', 'SUSPECT', (_, f) => f.warnings.push({ code: 'PLATEAU_MOVED', message: '' })],
  ];
  for (const [code, status, change] of cases) {
    it(`${code} makes it ${status}`, () => {
      const verdict = verdictOf(change);
      assert.deepEqual(verdict.codes, [code]);
      assert.equal(verdict.status, status);
    });
  }

  it('says in which direction the counts of members differ, and accuses nobody else', () => {
    const of = (serverMembers: number) => verdictOf((r) => (batch(r).serverMembers = serverMembers)).reasons[0];
    assert.match(
      of(4990)?.message ?? '',
      /the server counted fewer members than the fleet: in broadcast 1, 4990 and 5000$/,
    );
    assert.match(of(4990)?.fix ?? '', /one adapter.*or members left/);
    assert.doesNotMatch(of(4990)?.fix ?? '', /others joined/);
    assert.match(of(5010)?.message ?? '', /counted more members/);
    assert.match(of(5010)?.fix ?? '', /^others joined the room/);
  });

  it('blames a worker that confirms another broadcast, and not itself', () => {
    const { reasons, status } = verdictOf((_, f) => (f.sent = [sent(1, 5), { ...sent(2, 5), confirmedAs: 1 }]));
    assert.deepEqual([status, reasons.map(({ code }) => code)], ['INVALID', ['CONFIRMATION_WRONG']]);
    assert.match(
      reasons[0]?.message ?? '',
      /confirmed 1 of 2 broadcasts as another one: w0 confirmed broadcast 2 as 1$/,
    );
  });

  it('leaves out what a stop by the user causes, and keeps what came before it', () => {
    const stop = (lost: Record<string, number>, failures: Record<string, number>) =>
      verdictOf((r, f) => {
        f.aborted = { code: 'RUN_INCOMPLETE', message: 'stopped by the user', fix: '' };
        f.stoppedByUser = true;
        f.snapshots.push(snapshot({ processes: [deadProcess] }));
        Object.assign(r.connections, { achievedRatePerSec: 1, configuredRatePerSec: 25 / 3, lost, failures });
      });
    const dead = { 'fleet process died': 500 };
    assert.deepEqual(stop(dead, { fleet_dead: 3 }).codes, ['RUN_INCOMPLETE']);
    const { codes, reasons } = stop({ ...dead, 'transport close': 3 }, {});
    assert.deepEqual(codes, ['RUN_INCOMPLETE', 'CONNECTIONS_LOST']);
    assert.match(reasons[1]?.message ?? '', /^3 of \d+ opened connections were lost: transport close 3;/);
  });

  it('rounds the rate', () => {
    const { reasons } = verdictOf((r) =>
      Object.assign(r.connections, { achievedRatePerSec: 1, configuredRatePerSec: 25 / 3 }),
    );
    assert.match(reasons[0]?.message ?? '', /^only 1\.0 of 8\.3 connections/);
  });

  it('forgives a rate within 5 %, and members whose joins were in flight', () => {
    assert.equal(
      verdictOf((r) => {
        r.connections.achievedRatePerSec = 476;
        Object.assign(batch(r), { serverMembers: 5003, unexpected: 3 });
      }).status,
      'VALID',
    );
  });

  it('forgives a busy machine on which nobody waits, and receivers close behind the sentinel', () => {
    const { reasons } = verdictOf((r) => {
      saturate(r, 0.1);
      // The sentinel's median is 40 ms.
      r.latency.behindSentinelMs = summaryOf(6, 12);
    });
    assert.deepEqual(reasons, []);
  });

  it('weighs a lag behind the sentinel by its share of a long way', () => {
    const behind = (sentinelMs: number) =>
      verdictOf((r) => {
        r.latency.sentinelMs = summaryOf(12, sentinelMs);
        r.latency.completionMs = summaryOf(12, sentinelMs);
        lagBehind(r, 50, 150);
      }).codes;
    assert.deepEqual(behind(1000), []);
    assert.deepEqual(behind(700), ['GENERATOR_QUEUES']);
  });

  for (const [cause, limit] of [
    ['EMFILE', /open files per process/],
    ['EADDRNOTAVAIL', /ports towards the target/],
    ['http_502', /ports towards a worker/],
  ] as const) {
    it(`UNIFORM_CEILING names the limit behind ${cause}`, () => {
      const { codes, reasons } = verdictOf((r) =>
        Object.assign(r.connections, { peak: 4900, failed: 100, failures: { [cause]: 95, timeout_open: 5 } }),
      );
      assert.deepEqual(codes, ['CONNECTIONS_FAILED', 'UNIFORM_CEILING']);
      assert.match(reasons[1]?.message ?? '', limit);
      assert.ok(reasons[1]?.fix);
    });
  }

  it('UNIFORM_CEILING: processes that all stop at the same number', () => {
    const { codes, reasons } = verdictOf(stopAt([1200, 1200, 1200]));
    assert.deepEqual(codes, ['UNIFORM_CEILING']);
    assert.match(reasons[0]?.message ?? '', /each of 3 fleet processes stopped at 1200/);
  });

  it('takes neither chance nor single failures for a ceiling', () => {
    assert.deepEqual(verdictOf(stopAt([1200, 1190, 1230])).codes, []);
    assert.deepEqual(verdictOf(stopAt([1200, 1200])).codes, [], 'two may be the same by chance');
    assert.deepEqual(verdictOf(stopAt([1666, 1667, 1667])).codes, [], 'all are there');
    const few = verdictOf((r) => Object.assign(r.connections, { failed: 3, failures: { http_502: 3 } }));
    assert.deepEqual(few.codes, ['CONNECTIONS_FAILED']);
    const various = { http_502: 60, ECONNRESET: 40 };
    const mixed = verdictOf((r) => Object.assign(r.connections, { failed: 100, failures: various }));
    assert.deepEqual(mixed.codes, ['CONNECTIONS_FAILED']);
  });

  it('forgives a clock that is far away and well known, and one that is known to a tenth of the latencies', () => {
    const status = (changes: object) => verdictOf((r) => r.latency.clocks.push(clock(changes))).status;
    assert.equal(status({ uncertaintyUs: 900 }), 'VALID');
    // The median of this result is 12.5 ms.
    assert.equal(status({ uncertaintyUs: 1200 }), 'VALID');
    assert.equal(status({ driftUs: 9000, jumpUs: 9000 }), 'VALID', 'followed');
  });

  it('names the worst of several clocks, and adds those of both ends', () => {
    const { reasons } = verdictOf((r) => {
      r.latency.clocks.push(
        clock({ uncertaintyUs: 2000 }),
        clock({ worker: 'w1', uncertaintyUs: 5000, jumpUs: 4000 }),
        clock({ worker: 'w2', driftUs: 30_000 }),
      );
      r.generators.push(ownHost(r, 1.5));
    });
    assert.equal(
      reasons[0]?.message,
      'one-way latencies, with a median of 12.5 ms, may be wrong by 6.5 ms: the clock of w1 is known to ± 5.0 ms and jumped ' +
        'by up to 4.0 ms, and the clock of generator host a is known to ± 1.5 ms',
    );
  });

  it('asks for no clock of a worker where latencies count from none', () => {
    const { codes } = verdictOf((r) => {
      r.latency.from = 'publisher';
      r.latency.clocks.push(clock({ uncertaintyUs: 9000 }));
    });
    assert.deepEqual(codes, []);
  });

  it('does without broadcasts, and with one that nobody was there for', () => {
    const codes = (change: (result: Result) => void) => verdictOf(change).codes;
    assert.deepEqual(
      codes((r) => r.delivery?.batches.splice(0)),
      [],
    );
    assert.deepEqual(
      codes((r) => Object.assign(batch(r), { expected: 0, received: 0, serverMembers: 0 })),
      [],
    );
  });

  it('tells by how much the last connections cost more, and has no doubt of a slope that is only wide', () => {
    assert.match(verdictOf(bendMemory).reasons[0]?.message ?? '', /^workerPss at rest .* cost more .* by 100 % of/);
    const wide = verdictOf((r) => Object.assign(r.memory.perConnectionBytes.workerPss ?? {}, { doubt: 'wide' }));
    assert.deepEqual(wide.codes, []);
  });

  it('needs memory at three numbers of connections', () => {
    const at = (...numbers: number[]) =>
      verdictOf((_, f) => (f.plateaus = numbers.map((connections) => ({ connections, layers: {} })))).codes;
    assert.deepEqual(at(0, 10, 20), []);
    assert.deepEqual(at(0, 10), ['TOO_FEW_PLATEAUS']);
  });

  it('names a problem of many broadcasts once', () => {
    const { codes, reasons } = verdictOf((r) => {
      for (const one of r.delivery?.batches ?? []) one.serverMembers = 1;
    });
    assert.deepEqual(codes, ['COUNTS_DISAGREE']);
    assert.match(
      reasons[0]?.message ?? '',
      /in 12 of 12 broadcasts, the server counted fewer members than the fleet: in broadcast 1, 1 and 5000/,
    );
  });

  it('takes losses that cross-foot for a result, and no doubt of it', () => {
    const lose = (counts: object) => verdictOf((r) => Object.assign(batch(r), { received: 4900, ...counts })).codes;
    assert.deepEqual(lose({ lostConnected: 60, lostDisconnected: 40 }), []);
    assert.deepEqual(lose({ lostConnected: 100 }), []);
    assert.deepEqual(lose({ lostDisconnected: 100 }), []);
    assert.deepEqual(lose({ lostConnected: 60, lostDisconnected: 39 }), ['LEDGER_MISMATCH']);
  });

  it('takes members that differ by more than the unexpected receipts for a disagreement, in both directions', () => {
    const count = (serverMembers: number | null, unexpected: number) =>
      verdictOf((r) => Object.assign(batch(r), { serverMembers, unexpected })).codes;
    assert.deepEqual(count(5004, 3), ['COUNTS_DISAGREE']);
    assert.deepEqual(count(4996, 3), ['COUNTS_DISAGREE']);
    assert.deepEqual(count(4997, 3), []);
    assert.deepEqual(count(null, 0), [], 'nobody has counted');
  });

  it('of a run that was stopped before the load names the stop only', () => {
    const { codes } = verdictOf((r, f) => {
      r.connections.peak = 0;
      f.plateaus = [{ connections: 0, layers: {} }];
      f.aborted = { code: 'RUN_INCOMPLETE', message: 'stopped' };
    });
    assert.deepEqual(codes, ['RUN_INCOMPLETE']);
  });

  it('needs neither a ledger nor latencies nor rates', () => {
    const { codes } = verdictOf((r) => {
      r.delivery = null;
      r.latency.oneWayMs = null;
      r.latency.clocks.push(clock({ uncertaintyUs: 9e9 }));
      Object.assign(r.connections, { achievedRatePerSec: null, configuredRatePerSec: null });
    });
    assert.deepEqual(codes, []);
  });

  it('knows a worker that was not there at the start', () => {
    const { codes, reasons } = verdictOf((_, f) => f.workersAtEnd.push({ worker: 'w7', pid: 3 }));
    assert.deepEqual(codes, ['WORKER_RESTARTED']);
    assert.match(reasons[0]?.message ?? '', /^w7 /);
  });

  it('knows a control URL that leads to another worker from a restart', () => {
    const workersAtStart = [worker, { worker: 'w1', pid: 11 }];
    const of = (...workersAtEnd: Measurements['workersAtEnd']) =>
      verdictOf((_, f) => Object.assign(f, { workersAtStart, workersAtEnd })).reasons;
    const swapped = of(...workersAtStart.toReversed());
    assert.deepEqual(
      swapped.map(({ code, message }) => [code, message]),
      [
        [
          'METRICS_ALTERNATE',
          'control URLs led to other workers at the end than at the start: that of w0 to w1, that of w1 to w0',
        ],
      ],
    );
    assert.deepEqual(
      of(worker, worker).map(({ code }) => code),
      ['METRICS_ALTERNATE'],
    );
    assert.deepEqual(
      of({ worker: 'w1', pid: 11 }, { worker: 'w1', pid: 12 }).map(({ code }) => code),
      ['METRICS_ALTERNATE', 'WORKER_RESTARTED'],
    );
  });

  it('concludes nothing from broadcasts whose ledger a run that ended early did not finalize', () => {
    const { codes, reasons } = verdictOf((r, f) => {
      f.aborted = { code: 'RUN_INCOMPLETE', message: 'drain: no answer' };
      f.sent = [sent(1, 5000), sent(2, 5000)];
      for (const one of r.delivery?.batches ?? []) Object.assign(one, { expected: 0, received: 0 });
      r.delivery?.batches.splice(2);
    });
    assert.deepEqual(codes, ['RUN_INCOMPLETE']);
    assert.equal(
      reasons[0]?.message,
      'drain: no answer; who received 2 of 2 broadcasts is not known, as their ledger is not finalized',
    );
  });

  it('takes two workers of one name for no restart', () => {
    const workers = [worker, { ...worker, pid: 11 }];
    const { codes } = verdictOf((_, f) => Object.assign(f, { workersAtStart: workers, workersAtEnd: [...workers] }));
    assert.deepEqual(codes, []);
  });

  it('counts broadcasts that were not sent among all of them', () => {
    const { reasons } = verdictOf((_, f) => {
      f.unsent.push({ seq: 2, message: 'no worker' }, { seq: 3, message: 'later' });
      f.sent.push(sent(1, 5000));
    });
    assert.match(reasons[0]?.message ?? '', /^2 of 3 broadcasts were not sent; the first because: no worker$/);
  });

  it('knows of connections that were lost while they were to be held', () => {
    const { status, codes } = verdictOf((r) => {
      r.connections.lost = { 'transport close': 1000 };
      for (const one of r.delivery?.batches ?? []) {
        Object.assign(one, { serverMembers: 4000, expected: 4000, received: 4000 });
      }
    });
    assert.deepEqual([status, codes], ['SUSPECT', ['CONNECTIONS_LOST']]);
  });

  it('is INVALID when one of several reasons is', () => {
    const verdict = verdictOf((r, f) => {
      r.connections.achievedRatePerSec = 1;
      f.workersAtEnd = [{ ...worker, pid: 11 }];
    });
    assert.equal(verdict.status, 'INVALID');
  });
});
