import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lateBroadcasts } from '../../../plugin/result/reasons/late-broadcasts.ts';
import type { SentBroadcast } from '../../../plugin/run/broadcasts/publish.ts';
import type { FaultMeasured } from '../../../plugin/run/measurements/fault.ts';
import { sent } from '../../helpers/measurements.ts';
import { perfectResult } from '../../helpers/results.ts';

/** The last `late` of them leave so much later than planned. */
function broadcasts(count: number, late: number, lateMs: number, intervalMs = 50): SentBroadcast[] {
  return Array.from({ length: count }, (_, index) => {
    const intendedAtUs = index * intervalMs * 1000;
    const sentAtUs = intendedAtUs + (index < count - late ? 100 : lateMs * 1000);
    return { ...sent(index + 1, 5000), intendedAtUs, sentAtUs };
  });
}

function messages(all: SentBroadcast[], fault?: FaultMeasured, result = perfectResult()): string[] {
  return [...lateBroadcasts({ sent: all, fault, ownEvent: undefined }, result)].map(({ message }) => message);
}

describe('broadcasts that leave later than planned', () => {
  it('are counted, with the worst of them and what was planned', () => {
    const [message, ...others] = messages(broadcasts(3000, 807, 744, 2));
    assert.match(message ?? '', /^807 of 3000 .* more than 50 ms later than planned, up to 744 ms, .* every 2 ms/);
    assert.deepEqual(others, []);
  });

  it('give no reason if they are few: a worker that stands still for a moment', () => {
    assert.deepEqual(messages(broadcasts(200, 20, 744)), []);
    assert.deepEqual(messages(broadcasts(3, 1, 744)), [], 'one is no burst');
    assert.equal(messages(broadcasts(200, 21, 744)).length, 1);
  });

  it('give no reason if they are nearer to their own time than to the next one', () => {
    assert.deepEqual(messages(broadcasts(20, 10, 240, 500)), []);
    assert.equal(messages(broadcasts(20, 10, 260, 500)).length, 1);
  });

  it('count as often as a row stands for several, in a long run', () => {
    const rows = broadcasts(20, 2, 300).map((one) => ({ ...one, broadcasts: one.seq > 18 ? 20 : 1 }));
    assert.match(messages(rows)[0] ?? '', /^40 of 58 /);
  });

  it('give no reason where only the server knows the plan, or during a planned fault', () => {
    const all = broadcasts(100, 50, 744);
    const unplanned = perfectResult();
    unplanned.latency.sendDelayMs = null;
    assert.deepEqual(messages(all, undefined, unplanned), []);
    const fault = { atUs: all[50]?.intendedAtUs, over: undefined } as FaultMeasured;
    assert.deepEqual(messages(all, fault), []);
  });
});
