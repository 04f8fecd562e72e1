import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instantOf } from '../../../plugin/run/own-event/instant.ts';
import { LatencyBasis } from '../../../plugin/run/own-event/orders.ts';
import { allSeen } from '../../../plugin/run/own-event/seen.ts';
import { measureEpochOffsetUs, sentTimes } from '../../../plugin/run/own-event/sent-times.ts';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { columns } from '../../helpers/columns.ts';

test('times by their magnitude and notation', () => {
  const at = Date.UTC(2026, 10, 22, 12, 0, 0) * 1000;
  const cases: [unknown, number | undefined, number?][] = [
    [at / 1e6, at, 1e6],
    [at / 1e6 + 0.25, at + 250_000, 1],
    [at / 1e3, at, 1e3],
    [at / 1e3 + 0.5, at + 500, 1],
    [at, at, 1],
    [`${at / 1e3}`, at, 1e3],
    ['2026-11-22T12:00:00Z', at, 1e6],
    ['2026-11-22T12:00:00.001Z', at + 1000, 1e3],
    ['2026-11-22T12:00:00.001002+00:00', at + 1002, 1],
    ['2026-11-22T13:00:00.5+01:00', at + 500_000, 1e5],
    [12_345.678, undefined],
    [0, undefined],
    [-at, undefined],
    [Number.NaN, undefined],
    ['yesterday', undefined],
    ['2026-11-22', undefined],
    ['', undefined],
    [null, undefined],
    [{}, undefined],
  ];
  for (const [value, epochUs, resolutionUs] of cases) {
    const instant = instantOf(value);
    assert.equal(instant && Math.round(instant.epochUs), epochUs, `${value}`);
    if (instant) assert.equal(instant.resolutionUs, resolutionUs, `${value}`);
  }
});

const OFFSET_US = 1.7e15;
const stamped = (sentAtMonotonicUs: number, firstAtUs: number) => ({
  firstAtUs,
  sentAt: (sentAtMonotonicUs + OFFSET_US) / 1000,
});

test('times that agree with our clock are used; before its receipt, and never after it', () => {
  const found = sentTimes([stamped(1000, 4000), stamped(5000, 4500)], OFFSET_US);
  assert.deepEqual('atUs' in found && found.atUs.map(Math.round), [1000, 4500]);
});

test('times that tell nothing are named', () => {
  const day = 86_400e6;
  const cases: [Parameters<typeof sentTimes>[0], RegExp][] = [
    [[stamped(0, 1000), { firstAtUs: 1, sentAt: undefined }], /nothing at this path/],
    [[{ firstAtUs: 1, sentAt: 12_345 }], /12345 is no time since 1970/],
    [[{ firstAtUs: 1, sentAt: 'soon' }], /"soon" is no time/],
    [[{ firstAtUs: 1, sentAt: 1_700_000_000 }], /1700000000 is in whole seconds/],
    [[stamped(3e6, 1000)], /is 3\.0 s after its receipt/],
    [[{ ...stamped(1e6, 6.1e6), emittedAtUs: 6e6 }], /is 5\.0 s before a publisher of the run emitted it/],
    [[stamped(1000, 3 * day)], /is 3\.0 days before its first receipt/],
    [[stamped(1000, 7200e6)], /is 2\.0 hours before/],
  ];
  for (const [broadcasts, message] of cases) {
    const found = sentTimes(broadcasts, OFFSET_US);
    assert.match('unusable' in found ? found.unusable : 'used', message);
  }
});

const sighting = (id: string, firstAtUs: number, changes = {}) => ({
  ...{ id, firstAtUs, sentAt: undefined, bytes: 10, reached: 1, counted: true },
  ...changes,
});

test('what several processes have seen is one list, by the first receipt anywhere', () => {
  const seen = allSeen([
    { ids: [sighting('b', 30), sighting('a', 10, { counted: false })], filled: 0, example: undefined },
    { ids: [sighting('a', 20, { reached: 5 }), sighting('c', 25)], filled: 0, example: undefined },
  ]);
  assert.deepEqual(columns(seen, 'id', 'firstAtUs', 'reached', 'counted'), {
    id: ['a', 'c', 'b'],
    firstAtUs: [10, 25, 30],
    reached: [6, 1, 1],
    counted: [false, true, true],
  });
});

/** Two broadcasts; of the run's own ids if the payload has the time that it wrote. */
function broadcasts(sentAt: (seq: number) => string | number | undefined, own?: number) {
  return [1, 2].map((seq) => ({
    ...{ seq, id: `p${seq}`, cutUs: seq * 1000 + 5, intendedAtUs: seq * 1000 },
    seen: { ...sighting(`p${seq}`, monotonicUs()), sentAt: sentAt(seq) },
    ...(own === undefined ? {} : { own: own + seq }),
  }));
}
const [first] = broadcasts(() => undefined);

test('a published broadcast is finalized even if nobody got it', () => {
  const basis = new LatencyBasis(true, 'publisher');
  const orders = basis.orders(broadcasts(() => undefined).map((one) => ({ ...one, seen: undefined })));
  assert.deepEqual(orders[0], { seq: 1, id: 'p1', room: '', sentAtUs: first?.cutUs, intendedAtUs: 1000 });
  assert.deepEqual([orders.length, basis.from, basis.unusable], [2, 'publisher', undefined]);
});

test('the time that a publisher wrote is that of its emit, however the server writes it', () => {
  const basis = new LatencyBasis(true, 'publisher');
  basis.orders(broadcasts((seq) => String(1.7e12 + seq), 1.7e12));
  assert.deepEqual([basis.from, basis.unusable], ['publisher', undefined]);
});

test('a time that the server sets before the emit is by a wrong clock, and one after it is used', () => {
  const nowUs = monotonicUs();
  const basisOf = (setAtUs: number) => {
    const basis = new LatencyBasis(true, 'publisher');
    const sentAt = (measureEpochOffsetUs() + setAtUs) / 1000;
    basis.orders(broadcasts(() => sentAt, 1).map((one) => ({ ...one, cutUs: nowUs - 30_000 })));
    return basis;
  };
  const early = basisOf(nowUs - 5e6);
  assert.equal(early.from, 'publisher');
  assert.match(early.unusable ?? '', /is 5\.0 s before a publisher of the run emitted it/);
  const late = basisOf(nowUs - 10_000);
  assert.deepEqual([late.from, late.unusable], ['payload', undefined]);
});

test('without a usable time, the first receipt is where the spread begins', () => {
  const basis = new LatencyBasis(true, 'first receipt');
  const [order] = basis.orders(broadcasts((seq) => 4 + seq));
  assert.deepEqual([order?.sentAtUs, order && 'latencyFromAtUs' in order], [1005, false]);
  assert.equal(basis.from, 'first receipt');
  assert.match(basis.unusable ?? '', /5 is no time/);
});

test('what latency counts from stays: a later broadcast without a usable time has none', () => {
  const basis = new LatencyBasis(true, 'first receipt');
  const [timed] = basis.orders(broadcasts(() => Date.now()));
  assert.equal(typeof timed?.latencyFromAtUs, 'number');
  const [untimed] = basis.orders(broadcasts((seq) => (seq === 1 ? 'soon' : Date.now())));
  assert.equal(untimed?.latencyFromAtUs, null);
  assert.deepEqual([basis.from, basis.untimed], ['payload', 1]);
  assert.match(basis.unusable ?? '', /"soon" is no time/);
});

test('the offset of the clocks is right wherever the process was off the CPU around a tick', () => {
  const offsetUs = 5_000_000_300;
  for (let stopped = 0; stopped < 200; stopped++) {
    const [stoppedAt, beforeIt] = [stopped >> 1, stopped % 2 === 0];
    let us = 0;
    let readings = 0;
    // Every reading takes 10 us; one takes 8 ms more, before it or after it.
    const read = <T>(value: () => T) => {
      const stands = readings++ === stoppedAt;
      us += stands && beforeIt ? 8005 : 5;
      const shown = value();
      us += stands && !beforeIt ? 8005 : 5;
      return shown;
    };
    const measured = measureEpochOffsetUs(
      () => read(() => Math.floor((us + offsetUs) / 1000)),
      () => read(() => us),
    );
    assert.ok(Math.abs(measured - offsetUs) <= 100, `reading ${stoppedAt}: ${measured - offsetUs} us`);
  }
});
