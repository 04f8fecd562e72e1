/** Tests processes of a layer that are stopped or end. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { ProcessWatch } from '../../../plugin/samplers/index.ts';
import { eventually } from '../../helpers/poll.ts';
import { startProcess } from '../../helpers/process.ts';

test('the process watch reports a process while it is stopped, and its end', async (t) => {
  const { child, pid } = startProcess(t, 'sleep', ['1000']);
  await once(child, 'spawn');
  const watch = new ProcessWatch();
  t.after(() => watch.close());
  watch.add({ redis: [pid] });
  child.kill('SIGSTOP');
  await eventually('it is stopped', () => watch.halted().length > 0);
  const [open] = watch.halted();
  assert.deepEqual([open?.pid, open?.layer, open?.state, open?.untilUs], [pid, 'redis', 'T', undefined]);
  child.kill('SIGCONT');
  await eventually('it goes on', () => watch.halted()[0]?.untilUs !== undefined);
  assert.equal(watch.halted().length, 1);
  child.kill('SIGKILL');
  await eventually('it ended', () => watch.ended().length > 0);
  assert.deepEqual(
    watch.ended().map(({ pid, layer }) => [pid, layer]),
    [[pid, 'redis']],
  );
});
