import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { keepingUpChecks } from '../../../plugin/findings/checks/delivery/keeping-up-checks.ts';
import { saturationChecks } from '../../../plugin/findings/checks/server/saturation-checks.ts';
import { addCauses, runChecks } from '../../../plugin/findings/find.ts';
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { Finding } from '../../../protocol/result/findings.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { column } from '../../helpers/columns.ts';
import { finding } from '../../helpers/findings.ts';
import { measurements } from '../../helpers/measurements.ts';
import { perfectMessages, summaryOf } from '../../helpers/message-figures.ts';
import { perfectBatch, perfectResult } from '../../helpers/results.ts';

/** Returns the findings of these checks, in addition to the given findings. */
function findingsOf(result: Result, ...codes: FindingCode[]): Finding[] {
  const details = runChecks([...saturationChecks, ...keepingUpChecks], result, measurements());
  const found = details.map(({ code, message, ...detail }) => finding(code, message, detail));
  return addCauses([...codes.map((code) => finding(code)), ...found], result, measurements());
}

const queue = (result: Result, ...codes: FindingCode[]) =>
  findingsOf(result, ...codes).find(({ code }) => code === 'QUEUE_GROWS');
const outcome = (result: Result) => (queue(result) ? 'breaks' : 'holds');
const texts = (result: Result) => column(runChecks(saturationChecks, result, measurements()), 'message');

describe('a deployment that keeps up', () => {
  /** Returns a run with broadcasts that take the server `servedMs` each, sent at `perSec` for `seconds`. */
  function broadcastsAt(perSec: number, seconds: number, servedMs: number, jitterMs = 0): Result {
    const result = perfectResult();
    const count = perSec * seconds;
    let freeMs = 0;
    const batches = Array.from({ length: count }, (_, index) => {
      const dueMs = (1000 * index) / perSec;
      freeMs = Math.max(freeMs, dueMs) + servedMs;
      const lastMs = freeMs - dueMs + jitterMs * ((index * 0.618) % 1);
      return { ...perfectBatch(index + 1, 100), t: 60 + dueMs / 1000, lastMs, dueToLastMs: lastMs };
    });
    Object.assign(result.delivery ?? {}, { batches });
    return result;
  }

  it('a deployment that can send 50 broadcasts per second keeps up with 49, and falls behind at 52', () => {
    for (const jitterMs of [0, 50]) {
      for (const perSec of [10, 49, 50, 52, 80]) {
        const expected = perSec > 50 ? 'breaks' : 'holds';
        assert.equal(outcome(broadcastsAt(perSec, 10, 20, jitterMs)), expected, `${perSec}/s`);
      }
    }
    assert.equal(outcome(broadcastsAt(80, 1, 20)), 'holds', 'a second shows nothing');
    const { message = '', fails } = queue(broadcastsAt(80, 10, 20)) ?? {};
    assert.match(message, /^copies fell behind: within 7\.50 s, the last receivers were 4\.50 s later$/);
    assert.equal(fails, 'the deployment keeps up with the load');
  });

  /** Delay of each broadcast in milliseconds, by its position in the window from 0 to 1. */
  const LATE: [what: string, each: (share: number) => number, expected: string][] = [
    ['constantly late', () => 3000, 'holds'],
    ['a cold start', (share) => (share < 0.2 ? 3000 : 20), 'holds'],
    ['a pause at the end', (share) => (share > 0.9 ? 3000 : 20), 'holds'],
    ['a pause that the server makes up for', (share) => [20, 3000, 1000, 1000][Math.floor(4 * share)] ?? 0, 'holds'],
    ['two pauses', (share) => [20, 1000, 500, 3000][Math.floor(4 * share)] ?? 0, 'holds'],
    ['a growing delay within noise', (share) => 20 + 150 * share, 'holds'],
    ['a growing delay', (share) => 20 + 400 * share, 'breaks'],
    ['a growing delay that falls slightly at the end', (share) => (share < 0.7 ? 20 + 5000 * share : 3000), 'breaks'],
    ['a delay that rises and falls', (share) => 20 + 300 * Math.sin(2 * Math.PI * share) ** 2, 'holds'],
    ['a falling delay', (share) => 420 - 400 * share, 'holds'],
  ];
  for (const [what, each, expected] of LATE) {
    it(`a deployment with this delay ${expected}: ${what}`, () => {
      const result = broadcastsAt(40, 10, 1);
      for (const [index, batch] of (result.delivery?.batches ?? []).entries()) batch.dueToLastMs = each(index / 400);
      assert.equal(outcome(result), expected);
    });
  }

  it('a deployment that keeps up delivers as many broadcasts as were due, whatever its own ids and times show', () => {
    // Latency is counted from the first copy, so only the pace of the broadcasts shows that 80 were due in each second.
    const paced = (perSec?: number) => {
      const result = broadcastsAt(80, 10, 20);
      for (const [index, batch] of (result.delivery?.batches ?? []).entries())
        Object.assign(batch, { t: 60 + index / 50, lastMs: 1, dueToLastMs: 1 });
      if (perSec) result.environment.settings = { delivery: { publish: { every: 1 / perSec } } };
      return outcome(result);
    };
    assert.deepEqual([paced(80), paced(50), paced()], ['breaks', 'holds', 'holds']);
  });

  it('judges whether a deployment keeps up by broadcasts with times, and only if there are enough', () => {
    for (const unknown of [{ t: null }, { lastMs: null, dueToLastMs: null }]) {
      const result = broadcastsAt(80, 10, 20);
      for (const [index, batch] of (result.delivery?.batches ?? []).entries())
        if (index % 3 > 0) Object.assign(batch, unknown);
      assert.equal(outcome(result), 'breaks');
    }
    assert.deepEqual([outcome(broadcastsAt(0.7, 10, 5000)), outcome(broadcastsAt(0.8, 10, 5000))], ['holds', 'breaks']);
  });

  it('a deployment that keeps up acknowledges as many messages as it receives', () => {
    const messagesOf = (queued: number[]) => {
      const result = perfectResult();
      result.messages = perfectMessages();
      Object.assign(result.messages.window ?? {}, { seconds: 10, sentPerSec: 1000, queued });
      return result;
    };
    const waiting = (queued: number[]) => outcome(messagesOf(queued));
    const steps = Array.from({ length: 11 }, (_, index) => index);
    assert.equal(waiting(steps.map((step) => 5 + 50 * step)), 'breaks', 'it answers 950 of 1,000 per second');
    assert.match(
      queue(messagesOf(steps.map((step) => 5 + 50 * step)))?.message ?? '',
      /within 8\.50 s, they were 0\.4\d s later$/,
    );
    assert.equal(waiting(steps.map((step) => 5 + 10 * step)), 'holds');
    assert.equal(waiting(steps.map((step) => (step === 10 ? 900 : 5))), 'holds');
    assert.equal(waiting([]), 'holds', 'an older result');
  });

  it('a deployment falls behind within two seconds if the delay grows evenly by half a second', () => {
    const within = (seconds: number, queued: (step: number) => number) => {
      const result = perfectResult();
      result.messages = perfectMessages();
      const points = Array.from({ length: 11 }, (_, step) => queued(step));
      Object.assign(result.messages.window ?? {}, { seconds, sentPerSec: 60, queued: points });
      return queue(result)?.message ?? 'holds';
    };
    // Server that acknowledges 20 of 60 messages per second.
    const late = within(8.07, (step) => 246 + 33 * step);
    assert.equal(late, 'acknowledgements fell behind: within 6.86 s, they were 4.68 s later');
    assert.match(
      within(2, (step) => 8 * step),
      /1\.1\d s later$/,
    );
    assert.equal(
      within(8, (step) => 3 * step),
      'holds',
      'less than half a second',
    );
    assert.equal(
      within(8, (step) => (step < 5 ? 0 : 300)),
      'holds',
      'a pause',
    );
  });

  it('a generator that was late for a moment does not excuse a deployment that falls behind', () => {
    const failsWith = (delayMaxMs: number, code: FindingCode) => {
      const result = broadcastsAt(80, 10, 20);
      result.generator = result.generator.map((loop) => ({ ...loop, delayMaxMs }));
      return queue(result, code)?.fails !== null;
    };
    assert.deepEqual(
      [60, 1000, 2000].map((ms) => failsWith(ms, 'GENERATOR_LATE')),
      [true, true, false],
    );
    assert.equal(failsWith(60, 'MACHINE_SATURATED'), false);
  });

  it('a saturated machine excuses a deployment unless its workers used all available CPU', () => {
    const judged = (cpuPercent: number, stage = 'broadcasts', cpuWaitShare = 0.5) => {
      const result = broadcastsAt(80, 10, 20);
      result.generator = result.generator.map((loop) => ({ ...loop, cpuWaitShare }));
      result.connections.perWorker = { w0: 100 };
      result.stages = [{ name: stage, t: 60 }];
      result.samples = [62, 64, 66].map((t) => ({ t, connections: 100, worker: { cpuPercent } }));
      const found = findingsOf(result, 'MACHINE_SATURATED');
      const causes = found.filter(({ explains }) => explains.includes('QUEUE_GROWS')).map(({ code }) => code);
      return [found.find(({ code }) => code === 'QUEUE_GROWS')?.fails !== null, causes];
    };
    assert.deepEqual(judged(98), [true, ['WORKERS_SATURATED']]);
    assert.deepEqual(judged(60), [false, ['MACHINE_SATURATED']], 'others took what it wanted');
    assert.deepEqual(judged(98, 'ramp'), [false, ['MACHINE_SATURATED']]);
    assert.deepEqual(judged(5, 'broadcasts', 0.9), [true, []], 'it would have used more, had it been busy');
    assert.deepEqual(judged(15, 'broadcasts', 0.9), [false, ['MACHINE_SATURATED']]);
  });

  it('suggests checking what handlers wait for if a deployment fell behind with spare CPU', () => {
    const fixOf = (cpuPercent: number) => {
      const result = broadcastsAt(80, 10, 20);
      result.generator = result.generator.map((loop) => ({ ...loop, cpuWaitShare: 0 }));
      result.connections.perWorker = { w0: 100 };
      result.stages = [{ name: 'broadcasts', t: 60 }];
      result.samples = [62, 64, 66].map((t) => ({ t, connections: 100, worker: { cpuPercent } }));
      return findingsOf(result).find(({ code }) => code === 'QUEUE_GROWS')?.fix ?? '';
    };
    assert.match(fixOf(3), /a lock, a queue, a timer or a database/);
    assert.match(fixOf(95), /CPU/);
    assert.doesNotMatch(fixOf(95), /lock/);
  });
});

describe('a resource of the deployment', () => {
  const sample = (t: number, cpuPercent: number) => ({ t, connections: 5000, worker: { cpuPercent } });

  it('reports no exhausted resource of the deployment if nothing was near a limit', () => {
    assert.deepEqual(texts(perfectResult()), []);
  });

  it('the exhausted resource is the CPU of workers under load, not during garbage collection', () => {
    const result = perfectResult();
    result.stages = [
      { name: 'ramp', t: 10 },
      { name: 'plateau', t: 14 },
      { name: 'broadcasts', t: 20 },
      { name: 'drain', t: 24 },
    ];
    const idle = [11, 12, 13, 14].map((t) => sample(t, 60));
    const collecting = [15, 16, 17].map((t) => sample(t, 200));
    result.samples = [...idle, ...collecting, ...[21, 22, 23, 24].map((t) => sample(t, 196))];
    assert.deepEqual(texts(result), ['worker CPU was at 98 % of a core in each of 2 workers (stage `broadcasts`)']);
    result.samples = [...idle, ...collecting];
    assert.deepEqual(texts(result), []);
  });

  it('the exhausted resource is the CPU of workers while they acknowledge messages', () => {
    const result = perfectResult();
    result.messages = perfectMessages();
    result.connections.perWorker = { w0: 100 };
    result.stages = [{ name: 'hold', t: 60 }];
    result.samples = [sample(62, 98), sample(64, 98)];
    assert.deepEqual(texts(result), ['worker CPU was at 98 % of its core (stage `hold`)']);
    assert.deepEqual(texts({ ...result, samples: result.samples.slice(1) }), [], 'a single sample can be a collection');
    assert.deepEqual(texts({ ...result, messages: null }), [], 'an idle hold is no load');
  });

  it('the exhausted resource can be a worker’s CPU during a broadcast, memory, or Redis output buffers', () => {
    const result = perfectResult();
    result.latency.completionMs = summaryOf(12, 140);
    Object.assign(result.cpu.worker ?? {}, { broadcastMicrosecondsPerMessage: 40 });
    result.memory.peakBytes.systemUsed = result.environment.memoryBytes * 0.97;
    result.samples = [{ t: 1, connections: 0, redisServer: { outputBufferBytes: 12 * 2 ** 20 } }];
    assert.deepEqual(texts(result), [
      'a broadcast keeps each of 2 workers busy for 100 of the 140 ms until its last copy arrives',
      '7,946.2 of 8,192.0 MB of the machine’s memory were in use',
      '12.0 MB of Redis’s output waited for the workers',
    ]);
  });
});
