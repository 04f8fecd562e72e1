import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Signals } from '../../../plugin/virtual-user/signals.ts';

it('held virtual users leave in parts of about the same size, which have users of every worker', async () => {
  const signals = new Signals();
  const left = new Set<number>();
  const users = 800;
  for (let user = 0; user < users; user++) void signals.released().then(() => left.add(user));
  const gone: number[] = [];
  for (const parts of [1, 2, 3, undefined]) {
    signals.release(parts);
    await new Promise((turn) => setImmediate(turn));
    gone.push(left.size);
    // A proxy deals connections to the workers in turn.
    for (const workers of [2, 3, 4, 8]) {
      const perWorker = Array.from({ length: workers }, (_, worker) =>
        [...left].filter((user) => user % workers === worker),
      );
      for (const own of perWorker)
        assert.ok(Math.abs(own.length - left.size / workers) <= 5, `${own.length} of ${left.size}`);
    }
  }
  assert.deepEqual(
    gone.map((count) => Math.round((count / users) * 100)),
    [25, 50, 75, 100],
  );
  await signals.released();
});
