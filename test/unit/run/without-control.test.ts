/** Tests that a run on a server without a control port measures the generator's counts, and reports nothing else. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { FleetPopulation } from '../../../plugin/run/population.ts';
import { substituteProbe } from '../../../plugin/run/receivers/round-trip-probe.ts';
import { NO_CONTROL, settingsWithoutControl } from '../../../plugin/run/target/control-client.ts';
import { resultSchema } from '../../../protocol/result/result.ts';
import { type Change, fromTheStart } from '../../helpers/conducted-run.ts';
import type { FakeRun } from '../../helpers/fake-run.ts';

const NONE: Change = ({ context, measurements }) => {
  Object.assign(measurements, { control: false, memory: false, sharedHost: false });
  Object.assign(context, { control: NO_CONTROL, collector: NO_CONTROL });
  context.probe = substituteProbe();
  context.config = settingsWithoutControl(context.config);
  context.population = new FleetPopulation(context.link, false);
};

const conduct = (t: TestContext, change: (run: FakeRun) => unknown = () => {}) =>
  fromTheStart(t, { warmUp: 100 }, (run, conducted) => {
    NONE(run, conducted);
    change(run);
  });

describe('without a control port', () => {
  it('a run without a control port is VALID, and the sections that need the port are absent with the reason', async (t) => {
    const { result } = await conduct(t);
    assert.deepEqual(result, resultSchema.parse(result));
    assert.deepEqual([result.verdict.status, result.findings], ['VALID', []]);
    assert.equal(result.run.complete, true);
    assert.deepEqual([result.connections.held, result.connections.peak, result.delivery], [20, 20, null]);
    assert.deepEqual(Object.keys(result.absent).sort(), ['cpu', 'delivery', 'latency', 'memory', 'roundTrip']);
  });

  it('a run without a control port does not publish, collect garbage or warm up', async (t) => {
    const { run, stages } = await conduct(t);
    assert.ok(!stages.includes('broadcasts') && stages.includes('hold'), String(stages));
    assert.doesNotMatch(run.asked.join(), /gc|freeze|warm-up|probe/);
  });

  it('joins without an acknowledgement delay nothing in a run without a control port', async (t) => {
    const { run } = await conduct(t, ({ status }) => (status.joining = 7));
    assert.deepEqual(run.codes, []);
  });
});
