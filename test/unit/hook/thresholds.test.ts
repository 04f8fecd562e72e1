/**
 * Tests Artillery's plugin `ensure`: it is disabled on generator hosts, and its checks become thresholds of the result.
 */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { disableThresholds } from '../../../plugin/hook/artillery-hooks.ts';
import { thresholdsOf } from '../../../plugin/result/artillery-metrics.ts';

const ARTILLERY = dirname(createRequire(import.meta.url).resolve('artillery/package.json'));
const ENSURE = join(ARTILLERY, 'dist/builtin-packages/artillery-plugin-ensure/dist/index.js');

/** Returns Artillery's exit code after `ensure` has evaluated a report without the metrics of this plugin. */
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

it('the hosts of a load do not evaluate thresholds, since each host has only its own metrics', async (t) => {
  t.after(() => Reflect.deleteProperty(process.env, 'ARTILLERY_DISABLE_ENSURE'));
  assert.equal(await exitCodeWithEnsure(t), 1);
  disableThresholds();
  assert.equal(await exitCodeWithEnsure(t), 0);
});

const hash = `'${'ab12'.repeat(16)}'`;
const max = 'max(a.b, a.c_d.e) < 3 and f.g > 1';
const found = (metric: string, value: number, unit = '') => ({ found: [{ metric, value, unit }] });
/** Checks reported by `ensure`, and the expected thresholds. `ensure` replaces metrics of the run with hashes. */
const CHECKS: [expression: string, met: boolean, hashed: string | undefined, expected: object][] = [
  ['vusers.failed < 1', true, `${hash} < 1`, found('vusers.failed', 0)],
  ['socketio.nosuch.p99 < 0.5', false, 'socketio.nosuch.p99 < 0.5', { unknown: ['socketio.nosuch.p99'] }],
  ['constructor.name < 1', false, 'constructor.name < 1', { unknown: ['constructor.name'] }],
  [max, false, max.replace('f.g', hash), { unknown: ['a.b', 'a.c_d.e'], ...found('f.g', 2) }],
  ['maxErrorRate < 1', false, undefined, found('maxErrorRate', 1.5, '% of virtual users')],
  ['connections.connect_time.p99 < 0.1', false, `${hash} < 0.1`, found('connections.connect_time.p99', 12.9, 'ms')],
];

it('the result has each threshold with its outcome, the values found, and unknown metrics', () => {
  const stats = {
    counters: { 'vusers.failed': 0, 'vusers.created': 200, 'vusers.completed': 197, 'f.g': 2 },
    rates: {},
    summaries: { 'connections.connect_time': { p99: 12.9 } },
  };
  for (const [original, met, hashed, expected] of CHECKS) {
    const check = { original, result: Number(met), strict: true, ...(hashed && { hashed }) };
    const expression = original.replace('maxErrorRate <', 'maxErrorRate <=');
    assert.deepEqual(thresholdsOf([check], stats), [{ expression, met, strict: true, ...expected }]);
  }
});
