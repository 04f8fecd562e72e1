/** Tests thresholds of a run over several hosts. Artillery's own plugin evaluates them on the merged metrics. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { it } from 'node:test';
import { loadEnsureEvaluation } from '../../../plugin/conduct/hosts/ensure-evaluation.ts';
import { hostTotalsOf } from '../../../plugin/conduct/hosts/host-totals.ts';
import { resolveArtillery } from '../../../plugin/series/artillery-arguments.ts';
import { perfectResult } from '../../helpers/results.ts';

const MANIFEST = resolveArtillery('artillery/package.json');
const { DDSketch } = createRequire(MANIFEST)('@artilleryio/sketches-js');

/**
 * Returns Artillery's metrics of a host.
 * @param timesMs durations of its requests
 */
function hostWith(created: number, ...timesMs: number[]) {
  const sketch = new DDSketch({ relativeAccuracy: 0.01 });
  for (const ms of timesMs) sketch.accept(ms);
  const counters = { 'vusers.created': created, 'vusers.completed': created - 1, 'own.counter': Number.NaN };
  return hostTotalsOf({ counters, rates: { 'own.rate': 5 }, summaries: {}, histograms: { 'own.time': sketch } });
}

const HOSTS = [hostWith(10, 1, 1, 1), hostWith(30, 100)];

async function evaluated(ensure: object, hosts: Parameters<NonNullable<Evaluation>>[1] = HOSTS) {
  const evaluate = await loadEnsureEvaluation({ config: { plugins: { ensure: {} }, ensure } }, dirname(MANIFEST));
  return Object.fromEntries(evaluate?.(perfectResult(), hosts).map(({ expression, met }) => [expression, met]) ?? []);
}

type Evaluation = Awaited<ReturnType<typeof loadEnsureEvaluation>>;

it('compares figures of the run, and Artillery metrics summed over all hosts, with their thresholds', async () => {
  const thresholds = [{ 'connections.failed': 1 }, { 'connections.peak': 10 }, { 'own.time.max': 50 }];
  const expressions = ['vusers.created == 40 and own.rate == 10', 'own.time.count == 4 and own.time.min <= 1.1'];
  const conditions = expressions.map((expression) => ({ expression }));
  assert.deepEqual(await evaluated({ thresholds, conditions, maxErrorRate: 1 }), {
    'connections.failed < 1': true,
    'connections.peak < 10': false,
    'own.time.max < 50': false,
    'vusers.created == 40 and own.rate == 10': true,
    'own.time.count == 4 and own.time.min <= 1.1': true,
    'maxErrorRate <= 1': false,
  });
});

it('a threshold on an Artillery metric counts as missed if one host has sent no metrics', async () => {
  const thresholds = [{ 'vusers.created': 100 }, { 'connections.failed': 1 }];
  const expected = { 'vusers.created < 100': false, 'connections.failed < 1': true };
  assert.deepEqual(await evaluated({ thresholds }, [HOSTS[0], undefined]), expected);
});

it('an Artillery counter that is NaN is not sent to the conductor', () => {
  assert.deepEqual(hostWith(2).counters, { 'vusers.created': 2, 'vusers.completed': 1 });
});

it('the conductor evaluates no threshold for a scenario without thresholds', async () => {
  assert.equal(await loadEnsureEvaluation({ config: { plugins: { ensure: {} } } }, 'nowhere'), undefined);
});

it('a threshold on the Apdex score counts as missed, since scores of several hosts cannot be merged', async () => {
  assert.deepEqual(await evaluated({ conditions: [{ expression: 'apdex > 0.9' }] }), { 'apdex > 0.9': false });
});

it('refuses an installed Artillery that lacks the plugin `ensure`', async () => {
  const ensure = { thresholds: [{ 'connections.failed': 1 }] };
  await assert.rejects(loadEnsureEvaluation({ config: { ensure } }, '/nowhere'), { code: 'NOT_INSTALLED' });
});
