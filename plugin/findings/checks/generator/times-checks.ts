/**
 * Checks that the server's reports agree with the run's own measurements, and that the offset between their clocks is
 * known.
 */

import { SAME_CLOCK_US } from '../../../../protocol/base/clock/clock-line.ts';
import { findingValues } from '../../../../protocol/result/findings.ts';
import { withUnit } from '../../../../report/model/amount.ts';
import { leastAccurateClock } from '../../../result/delivery/assemble-latency.ts';
import { defineCheck, type FindingCheck, type RunFigures } from '../../check.ts';

/**
 * Maximum error of latencies between two hosts that is not reported: a fixed time, or a share of the median latency if
 * that is more.
 */
const MAX_CLOCK_ERROR = { us: 1000, share: 0.1 };

export const timesChecks: FindingCheck[] = [
  // A worker that confirms a different broadcast may not have sent the requested broadcast.
  defineCheck('IMPOSSIBLE_REPORT', (_, { sent }) => {
    const wrong = sent.filter(({ confirmedAs }) => confirmedAs !== undefined);
    const [first] = wrong;
    if (!first) return undefined;
    return {
      message: `workers confirmed ${wrong.length} of ${sent.length} broadcasts as another one: ${first.worker} confirmed broadcast ${first.seq} as ${first.confirmedAs}`,
      values: findingValues({
        'wrong confirmations': wrong.length,
        broadcasts: sent.length,
        'confirmed as': first.confirmedAs,
      }),
    };
  }),
  // The error of a latency is the sum of the errors of the publisher's clock and the receiver's clock.
  defineCheck('IMPOSSIBLE_REPORT', ({ delivery, latency, generators }, { sent }) => {
    const { batches = [] } = delivery ?? {};
    const hostBoundUs = clockBoundUs(leastKnownClock(generators));
    const impossible = batches.filter(({ seq, earlyByMs }) => {
      const { via = -1, unconfirmed } = sent.find((one) => one.seq === seq) ?? {};
      // The send time of an unconfirmed broadcast is unknown.
      if (unconfirmed) return false;
      const clock = latency.clocks[via];
      return (earlyByMs ?? 0) * 1000 > SAME_CLOCK_US + hostBoundUs + (clock?.uncertaintyUs ?? 0);
    });
    const [worst] = impossible.toSorted((a, b) => (b.earlyByMs ?? 0) - (a.earlyByMs ?? 0));
    if (!worst) return undefined;
    return {
      values: [
        ...findingValues({
          'broadcasts before their send': impossible.length,
          broadcasts: batches.length,
          'copies before their send': worst.early,
        }),
        ...findingValues({ 'longest before the send': worst.earlyByMs }, 'ms'),
      ],
      message: `${impossible.length} of ${batches.length} broadcasts arrived before they were sent: ${worst.early} copies of broadcast ${worst.seq} by up to ${withUnit('milliseconds', worst.earlyByMs ?? 0)}`,
    };
  }),
  defineCheck('IMPOSSIBLE_REPORT', ({ latency: { clocks } }, { sent }) => {
    const early = sent.flatMap(({ seq, via, sentAtUs, orderedAtUs = sentAtUs, unconfirmed }) => {
      if (unconfirmed) return [];
      const us = orderedAtUs - sentAtUs;
      return us > SAME_CLOCK_US + (clocks[via]?.uncertaintyUs ?? Number.POSITIVE_INFINITY) ? { seq, us } : [];
    });
    const [worst] = early.toSorted((a, b) => b.us - a.us);
    if (!worst) return undefined;
    return {
      values: [
        ...findingValues({ 'broadcasts before their order': early.length, broadcasts: sent.length }),
        ...findingValues({ 'longest before the order': worst.us / 1000 }, 'ms'),
      ],
      message: `workers say that they sent ${early.length} of ${sent.length} broadcasts before the run had ordered them: broadcast ${worst.seq} by ${ms(worst.us)}`,
    };
  }),
  defineCheck('IMPOSSIBLE_REPORT', (_, { impossibleRoundTrips, roundTripsUs }) => {
    const [first] = impossibleRoundTrips;
    if (!first) return undefined;
    const all = impossibleRoundTrips.length + roundTripsUs.single.length + roundTripsUs.underLoad.length;
    const reported = Number.isFinite(first.roundTripUs) ? ms(first.roundTripUs) : 'no number';
    return {
      values: [
        ...findingValues({ 'wrong round trips': impossibleRoundTrips.length, 'round trips': all }),
        ...findingValues(
          {
            'reported round trip': Number.isFinite(first.roundTripUs) ? first.roundTripUs / 1000 : undefined,
            'shortest possible': first.leastUs / 1000,
            'longest possible': first.mostUs / 1000,
          },
          'ms',
        ),
      ],
      message: `the server reported ${impossibleRoundTrips.length} of ${all} round trips wrong: that of broadcast ${first.echo.seq} as ${reported}, where the probe measured ${ms(first.leastUs)} to ${ms(first.mostUs)}`,
    };
  }),
  defineCheck('PROBE_INCOMPLETE', (_, { jumpedRoundTrips }) => {
    if (jumpedRoundTrips === 0) return undefined;
    return {
      message: `${jumpedRoundTrips} round trips are not used: a worker's clock jumped during them`,
      values: findingValues({ 'unused round trips': jumpedRoundTrips }),
      fix: 'was its machine suspended, or moved to another host?',
    };
  }),
  defineCheck('CLOCK_UNCERTAIN', ({ latency, generators }) => {
    const { oneWayMs } = latency;
    const worker = leastAccurateClock(latency);
    const host = leastKnownClock(generators);
    const errorUs = (worker?.uncertaintyUs ?? 0) + clockBoundUs(host);
    const allowedUs = Math.max(MAX_CLOCK_ERROR.us, (oneWayMs?.p50 ?? 0) * 1000 * MAX_CLOCK_ERROR.share);
    if (!oneWayMs || errorUs <= allowedUs) return undefined;
    const jumped = worker && worker.jumpUs > 0 ? ` and jumped by up to ${ms(worker.jumpUs)}` : '';
    const clocks = [
      ...(worker ? [`the clock of ${worker.worker} is known to ± ${ms(worker.uncertaintyUs)}${jumped}`] : []),
      ...(host ? [`the clock of generator host ${host.host} is known to ± ${ms(clockBoundUs(host))}`] : []),
    ];
    return {
      values: findingValues(
        {
          'error of the clocks': errorUs / 1000,
          'median latency': oneWayMs.p50,
          'error of the worker’s clock': worker && worker.uncertaintyUs / 1000,
          'jump of the worker’s clock': worker && worker.jumpUs / 1000,
          'error of the host’s clock': host && clockBoundUs(host) / 1000,
        },
        'ms',
      ),
      message: `${clocks.join(', ')}: latencies, with a median of ${ms(oneWayMs.p50 * 1000)}, may be wrong by ${ms(errorUs)}`,
    };
  }),
];

function ms(us: number): string {
  return withUnit('milliseconds', us / 1000);
}

/** Returns the host whose clock is the least accurate; undefined if there is only one host. */
function leastKnownClock(generators: RunFigures['generators']): RunFigures['generators'][number] | undefined {
  return generators.toSorted((a, b) => clockBoundUs(b) - clockBoundUs(a))[0];
}

function clockBoundUs(host: RunFigures['generators'][number] | undefined): number {
  return (host?.clock?.boundMs ?? 0) * 1000;
}
