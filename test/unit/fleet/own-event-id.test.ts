import assert from 'node:assert/strict';
import { it } from 'node:test';
import { idOf } from '../../../plugin/fleet/client/own-event.ts';

it('an id is a string or a number that JavaScript can tell from its neighbours', () => {
  assert.deepEqual([idOf('a'), idOf(7), idOf(-1.5), idOf(2 ** 53 - 1)], ['a', '7', '-1.5', '9007199254740991']);
  // Both are 9007199254741228 to JavaScript.
  for (const text of ['9007199254741228', '9007199254741229']) assert.equal(idOf(JSON.parse(text)), undefined);
  assert.deepEqual(
    [idOf(true), idOf(null), idOf({}), idOf('x'.repeat(201))],
    [undefined, undefined, undefined, undefined],
  );
});
