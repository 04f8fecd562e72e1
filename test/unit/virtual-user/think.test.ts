import assert from 'node:assert/strict';
import { it } from 'node:test';
import { durationMs } from '../../../plugin/script/duration.ts';
import { jittered } from '../../../plugin/virtual-user/steps/think.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';
import { Bench } from '../../helpers/virtual-user.ts';

it('takes bare numbers for seconds, whole or not', () => {
  for (const [value, ms] of [
    [5, 5000],
    [0.5, 500],
    [0, 0],
    ['5', 5000],
    ['0.5', 500],
    ['500ms', 500],
    ['2s', 2000],
    ['1.5 seconds', 1500],
    ['5m', 300_000],
    ['1h', 3_600_000],
  ] as const) {
    assert.equal(durationMs(value), ms, String(value));
  }
  for (const value of [-1, Number.NaN, 'soon', '5 parsecs', '', null, undefined, {}]) {
    assert.equal(durationMs(value), undefined, String(value));
  }
});

it('spreads by milliseconds or percent, never below zero', () => {
  for (let round = 0; round < 200; round++) {
    assert.ok(Math.abs(jittered(1000, 100) - 1000) <= 100);
    assert.ok(Math.abs(jittered(1000, '100') - 1000) <= 100);
    assert.ok(Math.abs(jittered(1000, '20%') - 1000) <= 200);
    assert.ok(jittered(10, 1000) >= 0);
  }
  assert.equal(jittered(1000, undefined), 1000);
});

it('waits for a templated time, and fails on a template that gives none', async (t) => {
  const time = new VirtualTime(t);
  const think = (pause: string) => time.until(new Bench().play([{ think: '{{ pause }}' }], { pause }));
  assert.deepEqual([(await think('30s')).error, time.nowMs], [null, 30_000]);
  assert.equal((await think('soon')).error?.code, 'invalid_template');
});
