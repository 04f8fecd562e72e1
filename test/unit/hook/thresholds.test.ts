/** Artillery's own plugin `ensure`, on a host of several: it has none of the figures that the thresholds are for. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { disableThresholds } from '../../../plugin/hook/artillery.ts';

const ARTILLERY = dirname(createRequire(import.meta.url).resolve('artillery/package.json'));
const ENSURE = join(ARTILLERY, 'dist/builtin-packages/artillery-plugin-ensure/dist/index.js');

/** @returns Artillery's exit code after the plugin has seen a report without our metrics */
async function exitCodeWithEnsure(t: TestContext): Promise<number> {
  const extended = new EventEmitter();
  const artillery = {
    version: '2.0.34',
    suggestedExitCode: 0,
    globalEvents: new EventEmitter(),
    log: () => {},
    ext: ({ method }: { method: (data: object) => Promise<void> }) =>
      setImmediate(() => extended.emit('method', method)),
  };
  Object.assign(globalThis, { artillery });
  t.after(() => Reflect.deleteProperty(globalThis, 'artillery'));
  const { Plugin } = await import(ENSURE);
  new Plugin({ config: { ensure: { thresholds: [{ 'connections.failed': 1 }] } } }, new EventEmitter());
  const [evaluate] = await once(extended, 'method');
  await evaluate({ report: { counters: { 'vusers.created': 1 }, rates: {}, summaries: {} } });
  return artillery.suggestedExitCode;
}

it('misses every threshold, unless it is told to evaluate none', async (t) => {
  t.after(() => Reflect.deleteProperty(process.env, 'ARTILLERY_DISABLE_ENSURE'));
  assert.equal(await exitCodeWithEnsure(t), 1);
  disableThresholds();
  assert.equal(await exitCodeWithEnsure(t), 0);
});
