import { describe } from 'node:test';
import type { SentBroadcast } from '../../../plugin/run/broadcasts/publish.ts';
import type { FaultMeasured } from '../../../plugin/run/measurements/fault.ts';
import { sent } from '../../helpers/measurements.ts';
import { type Change, testCases, WORKER } from '../../helpers/verdict.ts';

/** The last `late` of them leave so much later than planned. */
function broadcasts(count: number, late: number, lateMs: number, intervalMs = 50): SentBroadcast[] {
  return Array.from({ length: count }, (_, index) => {
    const intendedAtUs = index * intervalMs * 1000;
    const sentAtUs = intendedAtUs + (index < count - late ? 100 : lateMs * 1000);
    return { ...sent(index + 1, 5000), intendedAtUs, sentAtUs };
  });
}

const of =
  (all: SentBroadcast[], more: Change = () => {}): Change =>
  (result, measured) => {
    measured.sent = all;
    more(result, measured);
  };

describe('broadcasts that leave later than planned', () => {
  const half = broadcasts(100, 50, 744);
  const fault = { atUs: half[50]?.intendedAtUs, over: undefined } as FaultMeasured;
  const severalEach = broadcasts(20, 2, 300).map((one) => ({ ...one, broadcasts: one.seq > 18 ? 20 : 1 }));

  testCases([
    ['in bursts', of(broadcasts(3000, 807, 744, 2)), 'BROADCASTS_LATE', '807 of 3000', '50 ms', '744 ms', '2 ms'],
    ['a tenth of them', of(broadcasts(200, 20, 744))],
    ['more than a tenth', of(broadcasts(200, 21, 744)), 'BROADCASTS_LATE', '21 of 200'],
    ['one, which is no burst', of(broadcasts(3, 1, 744))],
    ['the only one', of(broadcasts(1, 1, 744))],
    ['both', of(broadcasts(2, 2, 744)), 'BROADCASTS_LATE', '2 of 2'],
    ['nearer to their own time than to the next one', of(broadcasts(20, 10, 240, 500))],
    ['nearer to the next one', of(broadcasts(20, 10, 260, 500)), 'BROADCASTS_LATE', '10 of 20'],
    ['in rows that stand for several', of(severalEach), 'BROADCASTS_LATE', '40 of 58'],
    ['by a plan that only the server knows', of(half, ({ latency }) => (latency.sendDelayMs = null))],
  ]);

  testCases([
    [
      'during a planned fault',
      of(half, (_, measured) => (measured.fault = { ...fault, workers: { before: [WORKER], after: [] } } as never)),
    ],
  ]);
});
