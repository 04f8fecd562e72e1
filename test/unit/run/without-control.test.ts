/** A run on a server without a control port: what the fleet counts is measured, and nothing else is claimed. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { assembleResult } from '../../../plugin/result/assemble.ts';
import { FleetPopulation } from '../../../plugin/run/population.ts';
import { noProbe } from '../../../plugin/run/receivers/probe.ts';
import { NO_CONTROL, withoutControl } from '../../../plugin/run/target/control.ts';
import { resultSchema } from '../../../protocol/result/result.ts';
import { column } from '../../helpers/columns.ts';
import { ConductedRun } from '../../helpers/conducted-run.ts';
import { perfectResult } from '../../helpers/results.ts';

function conduct(t: TestContext): ConductedRun {
  const conducted = new ConductedRun(t, { warmUp: 100 });
  const { context, measurements } = conducted.run;
  Object.assign(measurements, { control: false, memory: false, sharedHost: false });
  context.control = NO_CONTROL;
  context.probe = noProbe();
  context.config = withoutControl(context.config);
  context.population = new FleetPopulation(context.link, false);
  return conducted;
}

describe('without a control port', () => {
  it('a run is VALID and complete, and its other sections are absent, with the reason', async (t) => {
    const conducted = conduct(t);
    await conducted.whole();
    const { context, measurements } = conducted.run;
    const result = assembleResult(measurements, context.config, perfectResult().environment, context.sampler);
    assert.deepEqual(result, resultSchema.parse(result));
    assert.deepEqual(result.verdict, { status: 'VALID', reasons: [] });
    assert.equal(result.run.complete, true);
    assert.deepEqual([result.connections.held, result.connections.peak], [20, 20]);
    assert.equal(result.delivery, null);
    assert.deepEqual(Object.keys(result.absent).sort(), ['cpu', 'delivery', 'latency', 'memory', 'roundTrip']);
    assert.deepEqual(new Set(Object.values(result.absent)), new Set(['no control port']));
  });

  it('nobody publishes, collects garbage or warms up', async (t) => {
    const conducted = conduct(t);
    await conducted.whole();
    const { stages, run } = conducted;
    assert.ok(!stages.includes('broadcasts') && stages.includes('hold'), String(stages));
    assert.deepEqual(
      run.asked.filter((what) => /gc|freeze|warm-up|probe/.test(what)),
      [],
    );
  });

  it('joins that the server does not acknowledge hold up nothing', async (t) => {
    const conducted = conduct(t);
    conducted.run.status.joining = 7;
    await conducted.whole();
    assert.deepEqual(conducted.run.codes, []);
  });

  it('connections that the server ends are lost', async (t) => {
    const conducted = conduct(t);
    await conducted.prepare();
    await conducted.arriveAll();
    const { context, measurements } = conducted.run;
    const { snapshots } = context.link;
    context.link.snapshots = async () =>
      (await snapshots()).map((one) => ({
        ...one,
        accounts: { ...one.accounts, alive: 17, ended: { 'transport close': 3 } },
        connected: 17,
      }));
    await conducted.finale();
    const result = assembleResult(measurements, context.config, perfectResult().environment, context.sampler);
    assert.deepEqual(result.connections.lost, { 'transport close': 3 });
    assert.deepEqual(column(result.verdict.reasons, 'code'), ['CONNECTIONS_DROPPED']);
  });
});
