/** Whether a deployment kept up with broadcasts and messages. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { evidenceOf } from '../../../report/search/evidence.ts';
import { judge } from '../../../report/search/judge.ts';
import { finding } from '../../helpers/findings.ts';
import { perfectMessages } from '../../helpers/message-figures.ts';
import { until } from '../../helpers/reasons.ts';
import { perfectBatch, perfectResult } from '../../helpers/results.ts';

const DEFAULT = { until: [], vary: 'connections' as const };

describe('a deployment that keeps up', () => {
  /** Of broadcasts that a server takes `servedMs` for each, sent at a rate for so many seconds. */
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

  const rateOf = { until: [], vary: 'broadcastsPerSec' as const };
  const outcome = (result: Result, plan: Parameters<typeof judge>[1] = rateOf, level?: number) =>
    judge(result, plan, level).outcome;

  it('holds 49 broadcasts per second of the 50 that it can do, and never 52 or 80', () => {
    for (const jitterMs of [0, 50]) {
      for (const perSec of [10, 49, 50, 52, 80]) {
        const expected = perSec > 50 ? 'breaks' : 'holds';
        assert.equal(outcome(broadcastsAt(perSec, 10, 20, jitterMs)), expected, `${perSec}/s`);
      }
    }
    assert.equal(outcome(broadcastsAt(80, 1, 20)), 'breaks', 'nor in a second');
    const { because } = judge(broadcastsAt(80, 10, 20), rateOf);
    assert.match(because[0] ?? '', /^copies fell behind: within 7\.5 s, their last receivers were 4\.5 s later$/);
    assert.equal(outcome(broadcastsAt(80, 10, 20), until('connections.failed > 0')), 'holds', '--until replaces it');
    assert.equal(outcome(broadcastsAt(80, 10, 20), DEFAULT), 'breaks', 'whatever varies');
  });

  /** How late each is, in milliseconds, by its share of the window. */
  const LATE: [what: string, each: (share: number) => number, expected: string][] = [
    ['late all the time', () => 3000, 'holds'],
    ['a cold start', (share) => (share < 0.2 ? 3000 : 20), 'holds'],
    ['a pause at the end', (share) => (share > 0.9 ? 3000 : 20), 'holds'],
    ['a pause that it gets over', (share) => [20, 3000, 1000, 1000][Math.floor(4 * share)] ?? 0, 'holds'],
    ['two pauses', (share) => [20, 1000, 500, 3000][Math.floor(4 * share)] ?? 0, 'holds'],
    ['later by less than noise', (share) => 20 + 150 * share, 'holds'],
    ['later and later', (share) => 20 + 400 * share, 'breaks'],
    ['later, but for a little that it catches up', (share) => (share < 0.7 ? 20 + 5000 * share : 3000), 'breaks'],
    ['what comes and goes', (share) => 20 + 300 * Math.sin(2 * Math.PI * share) ** 2, 'holds'],
    ['faster and faster', (share) => 420 - 400 * share, 'holds'],
  ];
  for (const [what, each, expected] of LATE) {
    it(`${expected}: ${what}`, () => {
      const result = broadcastsAt(40, 10, 1);
      for (const [index, batch] of (result.delivery?.batches ?? []).entries()) batch.dueToLastMs = each(index / 400);
      assert.equal(outcome(result), expected);
    });
  }

  it('delivers as many as were due, by whatever its own ids and times say', () => {
    // Each counts from its first copy: nothing but their pace shows that 80 were due in each second.
    const paced = broadcastsAt(80, 10, 20);
    for (const [index, batch] of (paced.delivery?.batches ?? []).entries())
      Object.assign(batch, { t: 60 + index / 50, lastMs: 1, dueToLastMs: 1 });
    assert.equal(outcome(paced, rateOf, 80), 'breaks');
    assert.equal(outcome(paced, rateOf, 50), 'holds');
    assert.equal(outcome(paced, DEFAULT, 80), 'holds', 'only where the level is their rate');
    // A time in the payload that is stamped when its turn comes.
    const stamped = broadcastsAt(80, 10, 20);
    for (const batch of stamped.delivery?.batches ?? []) batch.lastMs = 1;
    assert.equal(outcome(stamped, rateOf, 80), 'breaks');
  });

  it('is told by the broadcasts that have times, and not by few', () => {
    for (const unknown of [{ t: null }, { lastMs: null, dueToLastMs: null }]) {
      const result = broadcastsAt(80, 10, 20);
      for (const [index, batch] of (result.delivery?.batches ?? []).entries())
        if (index % 3 > 0) Object.assign(batch, unknown);
      assert.equal(outcome(result, rateOf, 80), 'breaks');
    }
    assert.deepEqual([outcome(broadcastsAt(7, 1, 500)), outcome(broadcastsAt(8, 1, 500))], ['holds', 'breaks']);
  });

  it('answers as many messages as it gets', () => {
    const messagesOf = (unanswered: number[]) => {
      const result = perfectResult();
      result.messages = perfectMessages();
      Object.assign(result.messages.window ?? {}, { seconds: 10, sentPerSec: 1000, unanswered });
      return result;
    };
    const waiting = (unanswered: number[]) => outcome(messagesOf(unanswered), DEFAULT);
    const steps = Array.from({ length: 11 }, (_, index) => index);
    assert.equal(waiting(steps.map((step) => 5 + 50 * step)), 'breaks', 'it answers 950 of 1,000 per second');
    const { because } = judge(messagesOf(steps.map((step) => 5 + 50 * step)), DEFAULT);
    assert.match(because[0] ?? '', /within 8\.5 s, they were 0\.4 s later$/);
    assert.equal(waiting(steps.map((step) => 5 + 10 * step)), 'holds');
    assert.equal(waiting(steps.map((step) => (step === 10 ? 900 : 5))), 'holds');
    assert.equal(waiting([]), 'holds', 'an older result');
  });

  it('is not the generator that was late for a moment', () => {
    const late = (delayMaxMs: number, code: 'GENERATOR_LATE' | 'MACHINE_SATURATED' = 'GENERATOR_LATE') => {
      const result = broadcastsAt(80, 10, 20);
      Object.assign(result, { verdict: { status: 'SUSPECT' }, findings: [finding(code, 'a loop was late')] });
      result.generator = result.generator.map((loop) => ({ ...loop, delayMaxMs }));
      return judge(result, rateOf).blame;
    };
    // Copies were 4.5 s late in the end.
    assert.deepEqual([late(60), late(1000), late(2000)], ['deployment', 'deployment', 'generator']);
    assert.equal(late(60, 'MACHINE_SATURATED'), 'machine');
  });

  it('is the server, on whatever machine, if its workers had all the CPU that they can use meanwhile', () => {
    const judged = (cpuPercent: number, stage = 'broadcasts') => {
      const result = broadcastsAt(80, 10, 20);
      Object.assign(result, { verdict: { status: 'SUSPECT' }, findings: [finding('MACHINE_SATURATED', 'full')] });
      result.connections.perWorker = { w0: 100 };
      result.stages = [{ name: stage, t: 60 }];
      result.samples = [62, 64, 66].map((t) => ({ t, connections: 100, worker: { cpuPercent } }));
      const { outcome, blame } = judge(result, rateOf);
      return [outcome, blame, evidenceOf(result).some((text) => text.includes('worker CPU was at 98 %'))];
    };
    assert.deepEqual(judged(98), ['breaks', 'deployment', true]);
    assert.deepEqual(judged(60), ['cannotTell', 'machine', false], 'others took what it wanted');
    assert.deepEqual(judged(98, 'ramp'), ['cannotTell', 'machine', true]);
  });

  it('is at its limit of CPU while it answers messages, too', () => {
    const result = perfectResult();
    result.messages = perfectMessages();
    result.connections.perWorker = { w0: 100 };
    result.latency.completionMs = null;
    result.stages = [{ name: 'hold', t: 60 }];
    result.samples = [62, 64].map((t) => ({ t, connections: 100, worker: { cpuPercent: 98 } }));
    assert.deepEqual(evidenceOf(result), ['worker CPU was at 98 % of its core (stage `hold`)']);
    const samples = result.samples;
    result.samples = samples.slice(1);
    assert.deepEqual(evidenceOf(result), [], 'a single sample can be a collection');
    result.samples = samples;
    result.messages = null;
    assert.deepEqual(evidenceOf(result), [], 'an idle hold is no load');
  });
});
