import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ResourceClosers } from '../../../plugin/run/closers.ts';
import { pollUntil } from '../../../plugin/run/wait.ts';

it('closers close in reverse order, once, despite errors', async () => {
  const closed: string[] = [];
  const errors: unknown[] = [];
  const closers = new ResourceClosers((error) => errors.push(error));
  closers.add(() => void closed.push('first'));
  closers.add(() => Promise.reject(new Error('no')));
  closers.add(async () => void closed.push('last'));
  await Promise.all([closers.close(), closers.close()]);
  assert.deepEqual(closed, ['last', 'first']);
  assert.equal(errors.length, 1);
});

it('closes a resource immediately if it was opened after the end of the run', async () => {
  const closers = new ResourceClosers(() => {});
  await closers.close();
  let closed = false;
  closers.add(() => {
    closed = true;
  });
  assert.ok(closed);
});

it('a poll checks its condition no more once its signal has aborted', async () => {
  const abort = new AbortController();
  let asked = 0;
  const condition = () => {
    asked++;
    setImmediate(() => abort.abort());
    return false;
  };
  assert.equal(await pollUntil(condition, 60_000, abort.signal, 60_000), false);
  assert.equal(asked, 1);
});
