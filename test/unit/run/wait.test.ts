import assert from 'node:assert/strict';
import { it } from 'node:test';
import { until } from '../../../plugin/run/wait.ts';

it('who was asked is not asked again once the signal has come', async () => {
  const abort = new AbortController();
  let asked = 0;
  const condition = () => {
    asked++;
    setImmediate(() => abort.abort());
    return false;
  };
  assert.equal(await until(condition, 60_000, abort.signal, 60_000), false);
  assert.equal(asked, 1);
});
