import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Closers } from '../../../plugin/run/closers.ts';

it('closes in the opposite order, once, whatever fails', async () => {
  const closed: string[] = [];
  const errors: unknown[] = [];
  const closers = new Closers((error) => errors.push(error));
  closers.add(() => void closed.push('first'));
  closers.add(() => Promise.reject(new Error('no')));
  closers.add(async () => void closed.push('last'));
  await Promise.all([closers.close(), closers.close()]);
  assert.deepEqual(closed, ['last', 'first']);
  assert.equal(errors.length, 1);
});

it('closes at once what is opened too late', async () => {
  const closers = new Closers(() => {});
  await closers.close();
  let closed = false;
  closers.add(() => {
    closed = true;
  });
  assert.ok(closed);
});
