/** Memory that is not at rest: a collection that was only confirmed, and memory that still falls. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assembleResult } from '../../../plugin/result/assemble.ts';
import { ConductedRun } from '../../helpers/conducted-run.ts';
import { perfectResult } from '../../helpers/results.ts';
import { assertNames } from '../../helpers/verdict.ts';

const MB = 1024 ** 2;

const messages = ({ run }: ConductedRun) => run.measurements.warnings.map(({ message }) => message);

function resultOf({ run }: ConductedRun) {
  const { measurements, context } = run;
  return assembleResult(measurements, context.config, perfectResult().environment, context.sampler);
}

describe('a collection that a worker confirms without making it', () => {
  /** w1 collects until the run has that many connections. */
  async function lying(conducted: ConductedRun, from: number) {
    const { run } = conducted;
    const { gc } = run.context.control;
    run.context.control.gc = async () => {
      const [, w1 = 0] = run.collections;
      await gc();
      if (run.status.connected >= from) run.collections[1] = w1;
    };
    run.context.sampler.reading = async () => ({
      workerPss: 1e6 + run.status.connected * 1000,
      nginxPss: 1e6 + run.status.connected * 100,
    });
    await conducted.whole();
  }

  it('is a reason, once', async (t) => {
    const conducted = new ConductedRun(t);
    await lying(conducted, 10);
    assert.deepEqual(conducted.run.codes, ['COLLECTION_MISSING']);
    assertNames(messages(conducted)[0], ['at 10', 'w1']);
    assert.equal(resultOf(conducted).verdict.status, 'SUSPECT');
  });

  it('leaves no memory at rest of the workers, nor a capacity', async (t) => {
    const conducted = new ConductedRun(t);
    await lying(conducted, 20);
    const result = resultOf(conducted);
    const { memory, capacity } = result;
    assert.deepEqual(Object.keys(memory.perConnectionBytes), ['nginxPss']);
    assert.deepEqual(Object.keys(memory.inService?.perConnectionBytes ?? {}), ['nginxPss']);
    assert.deepEqual([memory.perConnection, capacity.memoryLimited], [null, null]);
    assert.match(memory.absent.workerPss ?? '', /did not make a garbage collection/);
    assert.match(memory.absent.systemUsed ?? '', /did not make a garbage collection/);
  });
});

describe('memory that is freed late', () => {
  /** @param bytes of the workers beyond what the connections cost */
  function withMore({ run }: ConductedRun, bytes: () => number): void {
    run.context.sampler.reading = async () => {
      const workerRss = 100 * MB + run.status.connected * 1000 + bytes();
      return { workerRss, redisRss: 10 * MB };
    };
  }

  it('is waited for before the baseline', async (t) => {
    const conducted = new ConductedRun(t);
    const { time } = conducted;
    withMore(conducted, () => Math.max(0, 30 - time.nowMs / 250) * MB);
    await conducted.whole();
    assert.deepEqual(conducted.run.codes, []);
    assert.deepEqual(conducted.run.measurements.plateaus[0]?.layers.workerRss, 100 * MB);
    assert.equal(Math.round(resultOf(conducted).memory.perConnectionBytes.workerRss?.slope ?? 0), 1000);
  });

  it('is waited for before the residual', async (t) => {
    const conducted = new ConductedRun(t);
    const { time, run } = conducted;
    let goneAtMs = Number.POSITIVE_INFINITY;
    withMore(conducted, () => Math.max(0, 30 - Math.max(0, time.nowMs - goneAtMs) / 250) * MB);
    const { tell } = run.context.link;
    run.context.link.tell = (message) => {
      goneAtMs = time.nowMs;
      tell(message);
    };
    await conducted.prepare();
    await conducted.arriveAll();
    await conducted.finale();
    assert.deepEqual(run.codes, []);
    assert.deepEqual(run.measurements.afterDisconnect, { workerRss: 100 * MB, redisRss: 10 * MB });
  });

  it('at the limit still falls: no baseline, no memory per connection', async (t) => {
    const conducted = new ConductedRun(t);
    const { time } = conducted;
    let ms = 0;
    withMore(conducted, () => Math.max(0, 300 - time.nowMs / 100) * MB);
    await conducted.prepare();
    ms = time.nowMs;
    await conducted.arriveAll();
    await conducted.finale();
    assert.ok(ms > 20_000 && ms < 25_000, `${ms} ms`);
    assert.deepEqual(conducted.run.codes, ['SERVER_NOT_IDLE']);
    assertNames(messages(conducted)[0], ['at 0', 'Workers', '20 s']);
    const result = resultOf(conducted);
    assert.equal(result.memory.perConnectionBytes.workerRss?.doubt, 'freed');
    assert.equal(result.memory.perConnection?.bytes, null);
    assert.notEqual(result.memory.perConnectionBytes.redisRss?.doubt, 'freed');
  });

  it('after all have left still falls: no residual of that layer', async (t) => {
    const conducted = new ConductedRun(t);
    const { time, run } = conducted;
    let releasedAtMs = Number.POSITIVE_INFINITY;
    withMore(conducted, () => 500 * MB - Math.max(0, time.nowMs - releasedAtMs) * 10_000);
    const { tell } = run.context.link;
    run.context.link.tell = (message) => {
      releasedAtMs = time.nowMs;
      tell(message);
    };
    await conducted.whole();
    assert.deepEqual(run.codes, ['SERVER_NOT_IDLE']);
    assert.match(messages(conducted)[0] ?? '', /^after all had left, .* there is no residual$/);
    assert.deepEqual(resultOf(conducted).memory.residualBytes, { redisRss: 0 });
  });

  it('when nobody looked any more shows in the residual', async (t) => {
    const conducted = new ConductedRun(t);
    const { run } = conducted;
    withMore(conducted, () => (run.measurements.stages.some(({ name }) => name === 'hold') ? 0 : 30 * MB));
    await conducted.whole();
    assert.equal(resultOf(conducted).memory.perConnectionBytes.workerRss?.doubt, 'freed');
  });
});
