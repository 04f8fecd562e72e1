import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LatencyBasis, mergeSightings } from '../../../plugin/run/broadcasts/orders.ts';
import { measureEpochOffsetUs, parseInstant, sentTimes } from '../../../plugin/run/broadcasts/sent-times.ts';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { columns } from '../../helpers/columns.ts';

const AT_US = Date.UTC(2026, 10, 22, 12, 0, 0) * 1000;
/** Written value, the microseconds after noon for which it stands, and its resolution. */
const TIMES: [written: unknown, us: number, resolutionUs: number][] = [
  [AT_US / 1e6, 0, 1e6],
  [AT_US / 1e6 + 0.25, 250_000, 1],
  [AT_US / 1e3, 0, 1e3],
  [AT_US / 1e3 + 0.5, 500, 1],
  [AT_US, 0, 1],
  [`${AT_US / 1e3}`, 0, 1e3],
  ['2026-11-22T12:00:00Z', 0, 1e6],
  ['2026-11-22T12:00:00.001Z', 1000, 1e3],
  ['2026-11-22T12:00:00.001002+00:00', 1002, 1],
  ['2026-11-22T13:00:00.5+01:00', 500_000, 1e5],
];
test('parses times of an event by their magnitude and notation', () => {
  for (const [written, us, resolutionUs] of TIMES) {
    const instant = parseInstant(written) ?? assert.fail(`${written}`);
    assert.deepEqual([Math.round(instant.epochUs - AT_US), instant.resolutionUs], [us, resolutionUs], `${written}`);
  }
  for (const written of [12_345.678, 0, -AT_US, Number.NaN, 'yesterday', '2026-11-22', '', null, {}]) {
    assert.equal(parseInstant(written), undefined, `${written}`);
  }
});

const OFFSET_US = 1.7e15;
const stamped = (sentAtMonotonicUs: number, firstAtUs: number) => ({
  firstAtUs,
  sentAt: (sentAtMonotonicUs + OFFSET_US) / 1000,
});

test("uses times that agree with the run's clock: before the receipt, and never after it", () => {
  const found = sentTimes([stamped(1000, 4000), stamped(5000, 4500)], OFFSET_US);
  assert.deepEqual('atUs' in found && found.atUs.map(Math.round), [1000, 4500]);
});

test('reports unusable times of events with their reason', () => {
  const dayUs = 86_400e6;
  const cases: [Parameters<typeof sentTimes>[0], RegExp][] = [
    [[stamped(0, 1000), { firstAtUs: 1, sentAt: undefined }], /nothing/],
    [[{ firstAtUs: 1, sentAt: 12_345 }], /12345/],
    [[{ firstAtUs: 1, sentAt: 'soon' }], /"soon"/],
    [[{ firstAtUs: 1, sentAt: 1_700_000_000 }], /1700000000 .*seconds/],
    [[stamped(3e6, 1000)], /3\.0 s after/],
    [[{ ...stamped(1e6, 6.1e6), emittedAtUs: 6e6 }], /5\.0 s before a publisher/],
    [[stamped(1000, 3 * dayUs)], /3\.0 days before/],
    [[stamped(1000, 7200e6)], /2\.0 hours before/],
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

test('merges the ids of several processes by their first receipt', () => {
  const seen = mergeSightings([
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

/** Returns two broadcasts. They have ids of the run if the payload has the time of the publisher. */
function broadcasts(sentAt: (seq: number) => string | number | undefined, own?: number) {
  return [1, 2].map((seq) => ({
    ...{ seq, id: `p${seq}`, membersAtUs: seq * 1000 + 5, intendedAtUs: seq * 1000 },
    sighting: { ...sighting(`p${seq}`, monotonicUs()), sentAt: sentAt(seq) },
    ...(own === undefined ? {} : { publishedSentAt: own + seq }),
  }));
}

test('finalizes a published broadcast without any receiver', () => {
  const basis = new LatencyBasis(true, 'publisher');
  const orders = basis.orders(broadcasts(() => undefined).map((one) => ({ ...one, sighting: undefined })));
  assert.deepEqual(orders[0], { seq: 1, id: 'p1', room: '', sentAtUs: 1005, intendedAtUs: 1000 });
  assert.deepEqual([orders.length, basis.from, basis.unusable], [2, 'publisher', undefined]);
});

const NOW_US = monotonicUs();
const agoMs = (us: number) => (measureEpochOffsetUs() + NOW_US - us) / 1000;
/**
 * Times in two broadcasts that were emitted 30 ms ago, time of the publisher, expected start of the latency, and the
 * reason if it is unusable.
 */
const BASES: [what: string, sentAt: (seq: number) => string | number, own: number | undefined, string, RegExp?][] = [
  ["the publisher's time, in any format of the server", (seq) => String(1.7e12 + seq), 1.7e12, 'publisher'],
  ["the server's time before the emit", () => agoMs(5e6), 1, 'publisher', /5\.0 s before/],
  ["the server's time after the emit", () => agoMs(10_000), 1, 'payload'],
  ['an unusable time, without a publisher', (seq) => 4 + seq, undefined, 'first receipt', /^5 /],
];
for (const [what, sentAt, own, from, unusable = /^$/] of BASES) {
  test(`latency with ${what} counts from ${from}`, () => {
    const basis = new LatencyBasis(true, own === undefined ? 'first receipt' : 'publisher');
    const sent = broadcasts(sentAt, own).map(({ sighting, ...broadcast }) => ({
      ...broadcast,
      membersAtUs: NOW_US - 30_000,
      sighting: { ...sighting, firstAtUs: NOW_US },
    }));
    const [order] = basis.orders(sent);
    assert.deepEqual([basis.from, order && 'latencyFromAtUs' in order], [from, from === 'payload']);
    assert.match(basis.unusable ?? '', unusable);
  });
}

test('a broadcast without a usable time has no latency if earlier broadcasts had one', () => {
  const basis = new LatencyBasis(true, 'first receipt');
  const [timed] = basis.orders(broadcasts(() => Date.now()));
  assert.equal(typeof timed?.latencyFromAtUs, 'number');
  const [untimed] = basis.orders(broadcasts((seq) => (seq === 1 ? 'soon' : Date.now())));
  assert.equal(untimed?.latencyFromAtUs, null);
  assert.deepEqual([basis.from, basis.untimed], ['payload', 1]);
  assert.match(basis.unusable ?? '', /"soon"/);
});

test('the offset to wall-clock time is right even if the process had no CPU around a tick', () => {
  const offsetUs = 5_000_000_300;
  for (let stopped = 0; stopped < 200; stopped++) {
    const [stoppedAt, beforeIt] = [stopped >> 1, stopped % 2 === 0];
    let us = 0;
    let readings = 0;
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
