/** The parts in which CPU is read while a server of somebody else's broadcasts. */
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { RunContext } from '../../../plugin/run/context.ts';
import { measureOwnEvent } from '../../../plugin/run/own-event/window.ts';
import type { Delivery } from '../../../plugin/script/settings.ts';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { assertEach } from '../../helpers/columns.ts';
import { FakeRun } from '../../helpers/fake-run.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

/** Ten members. @returns units and seconds of each part */
async function partsOf(
  t: TestContext,
  publishers: (run: FakeRun, time: VirtualTime) => RunContext['publishers'],
  delivery: object,
  drain = { quiet: 1, deadline: 2 },
): Promise<[number, number][]> {
  const time = new VirtualTime(t);
  const run = new FakeRun({ drain });
  run.arrive(10);
  const context = { ...run.context, publishers: publishers(run, time) };
  const options = { event: 'tick', id: ['id'], ...delivery } as unknown as Delivery;
  await time.until(measureOwnEvent(context, options, () => {}));
  return run.measurements.cpu.broadcasts.map(({ units, seconds }) => [units, Math.round(seconds)]);
}

it('begin with a broadcast of the publishers', async (t) => {
  const publishers = (run: FakeRun) => ({
    connected: 1,
    givesIds: true,
    prefix: 'run-',
    publish: async (onSent: (sent: never) => void) => {
      for (let seq = 1; seq <= 5; seq++) {
        await new Promise((resolve) => setTimeout(resolve, 2000));
        onSent({
          seq,
          id: `${seq}`,
          room: '',
          countedAs: `${seq}`,
          emittedAtUs: 1,
          intendedAtUs: 1,
          sentAt: 1,
        } as never);
        setTimeout(() => (run.status.received += 10), 500);
      }
    },
  });
  const parts = await partsOf(t, publishers, { publish: { count: 5 }, seconds: 10 });
  // The first one has the wait before it, the last one the drain.
  assert.deepEqual(parts, [
    [10, 4],
    [10, 2],
    [10, 2],
    [10, 2],
    [10, 2],
  ]);
});

it('are as long as each other where the server broadcasts by itself', async (t) => {
  const ticking = (run: FakeRun) => {
    setInterval(() => (run.status.received += 10), 1000);
    return undefined;
  };
  const parts = await partsOf(t, ticking, { seconds: 20 });
  assert.deepEqual(parts.slice(0, 9), Array(9).fill([20, 2]));
  assert.equal(parts.length, 10);
});

/** Of one broadcast, that the server sent by itself: when its last copy comes, after all broadcasts, and how long the drain is. */
const DRAINS: [what: string, lastCopyMs: number, drainSeconds: number][] = [
  ['as long as nothing else comes for a while, where all have come', 0, 3],
  ['as long after the last copy', 4000, 7],
  ['up to its deadline, where a copy never comes', Number.POSITIVE_INFINITY, 12],
];
for (const [what, lastCopyMs, drainSeconds] of DRAINS) {
  it(`the last one has the drain: ${what}`, async (t) => {
    const broadcasting = (run: FakeRun, time: VirtualTime) => {
      const firstAtUs = monotonicUs() + 1;
      run.context.link.sight = async () => {
        const reached = time.nowMs < 10_000 + lastCopyMs ? 9 : 10;
        const seen = { id: 'a', firstAtUs, sentAt: undefined, bytes: 5, reached, counted: true };
        return [{ ids: [seen], filled: 0, example: undefined }] as never;
      };
      return undefined;
    };
    const parts = await partsOf(t, broadcasting, { seconds: 10 }, { quiet: 3, deadline: 12 });
    assertEach(parts, ([, seconds]) => seconds, [...Array(9).fill(1), 1 + drainSeconds]);
  });
}
