import assert from 'node:assert/strict';
import { it } from 'node:test';
import { WorkerClocks } from '../../../plugin/run/target/clocks.ts';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { assertEach } from '../../helpers/columns.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

/** Of workers that are so far ahead; each asked one is noted. */
function control(offsetsUs: number[], asked: number[] = []) {
  return {
    clock: async (via: number) => {
      asked.push(via);
      return { atUs: monotonicUs(), offsetUs: offsetsUs[via] ?? Number.NaN, uncertaintyUs: 100 };
    },
  };
}

it('on one host there is one clock: it is not followed, and the error of asking for it is none of the latencies', async (t) => {
  const time = new VirtualTime(t);
  const asked: number[] = [];
  const clocks = new WorkerClocks(control([150, 150], asked), [true, false]);
  await time.until(clocks.read());
  assertEach(clocks.lines, (line) => [line.offsetAt(monotonicUs()), line.boundUs], [
    [0, 0],
    [150, 100],
  ]);
  asked.splice(0);
  clocks.follow();
  await time.pass(10_000);
  assert.deepEqual(asked, Array(10).fill(1));
  clocks.close();
  clocks.close();
  await time.pass(10_000);
  assert.equal(asked.length, 10);
});

it('a clock of this host that is off nevertheless is taken as it is, and followed', async (t) => {
  const time = new VirtualTime(t);
  const asked: number[] = [];
  const clocks = new WorkerClocks(control([5000], asked), [true]);
  await time.until(clocks.read());
  assert.deepEqual([clocks.lines[0]?.offsetAt(0), clocks.lines[0]?.boundUs], [5000, 100]);
  clocks.follow();
  await time.pass(2000);
  assert.equal(asked.length, 18);
  clocks.close();
});

it('a worker that does not answer for a while is no reason to end; before and after what counts, it is', async (t) => {
  const time = new VirtualTime(t);
  const asks = control([5000]);
  const { clock } = asks;
  const clocks = new WorkerClocks(asks, [false]);
  await time.until(clocks.read());
  clocks.follow();
  asks.clock = async () => Promise.reject(new Error('busy'));
  await time.pass(3000);
  await assert.rejects(time.until(clocks.read()), /busy/);
  asks.clock = clock;
  await time.pass(3000);
  assert.equal(clocks.lines[0]?.boundUs, 100);
  clocks.close();
});
