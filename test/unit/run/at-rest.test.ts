import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { readMemoryAtRest, readSettledMemory } from '../../../plugin/run/memory/readings.ts';
import { LAYERS } from '../../../plugin/samplers/layers/index.ts';
import { isConclusiveCost } from '../../../report/figures/per-connection.ts';
import { column } from '../../helpers/columns.ts';
import { assertWarned, fromTheStart } from '../../helpers/conducted-run.ts';
import { readingsOf } from '../../helpers/readings.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

/** Makes three readings, one after the other. */
async function read(t: TestContext, readings: Record<string, number>[]) {
  const time = new VirtualTime(t);
  const asked: string[] = [];
  const control = { gc: async () => void asked.push('gc'), stats: async () => [] };
  const sampler = {
    reading: async () => {
      asked.push(`reading at ${Math.round(time.nowMs / 100) * 100} ms`);
      return readingsOf(readings.shift() ?? {});
    },
  };
  const { layers } = await time.until(readMemoryAtRest(control, sampler));
  return { layers, asked };
}

it('memory at rest is the mean of several readings, each after a collection', async (t) => {
  const { layers, asked } = await read(t, [{ workerPss: 30 }, { workerPss: 10 }, { workerPss: 20 }]);
  assert.deepEqual(layers, { workerPss: 20 });
  assert.deepEqual(asked, ['gc', 'reading at 300 ms', 'gc', 'reading at 500 ms', 'gc', 'reading at 800 ms']);
});

it('a layer that is missing in one of several readings has no figure of memory at rest', async (t) => {
  const { layers } = await read(t, [{ a: 1, b: 2 }, { a: 1 }, { a: 1, b: 2, c: 3 }]);
  assert.deepEqual(layers, { a: 1 });
});

describe('the reading of memory', () => {
  const MB = 1024 ** 2;
  const unrelated = (ms: number) => ({
    workerRss: 200 * MB - ms * 500,
    ...{ workerPss: 900 * MB - ms * 10_000, fleetRss: 900 * MB - ms * 10_000 },
  });
  const falling = (ms: number) => ({ workerRss: 200 * MB, redisRss: 900 * MB - ms * 10_000 });

  /** Bytes by milliseconds, the expected time of the reading, and the layers that still fall at that time. */
  const CASES: [what: string, bytesAt: (ms: number) => Record<string, number>, fromMs: number, to: number, string[]][] =
    [
      [
        'repeats the memory reading within a second if memory has settled',
        () => ({ workerRss: 200 * MB }),
        0,
        1500,
        [],
      ],
      [
        'delays the memory reading while memory falls',
        (ms) => ({ workerRss: Math.max(100, 200 - ms / 50) * MB }),
        5000,
        8000,
        [],
      ],
      [
        'takes the memory reading at the time limit, and reports the layers that still fall',
        falling,
        20_000,
        22_000,
        ['redis'],
      ],
      [
        'delays no memory reading for noisy or shared memory, or for memory outside the deployment',
        unrelated,
        0,
        1500,
        [],
      ],
    ];
  for (const [what, bytesAt, fromMs, toMs, falls] of CASES) {
    it(what, async (t) => {
      const time = new VirtualTime(t);
      const control = { gc: async () => {}, stats: async () => [] };
      const sampler = { layers: LAYERS, reading: async () => readingsOf(bytesAt(time.nowMs)) };
      const settled = await time.until(readSettledMemory(control, sampler, new AbortController().signal));
      assert.deepEqual(column(settled.falls, 'layer'), falls);
      assert.ok(time.nowMs >= fromMs && time.nowMs < toMs, `${time.nowMs} ms`);
    });
  }
});

const MB = 1024 ** 2;

describe('a collection that a worker confirms without making it', () => {
  /** Returns a run whose worker w1 collects garbage until the run has this number of connections. */
  const lying = (t: TestContext, from: number) =>
    fromTheStart(t, {}, (run) => {
      const { control, sampler } = run.context;
      const { gc } = control;
      control.gc = async () => {
        const [, w1 = 0] = run.collections;
        await gc();
        if (run.status.connected >= from) run.collections[1] = w1;
      };
      sampler.reading = async () =>
        readingsOf({ workerPss: 1e6 + run.status.connected * 1000, nginxPss: 1e6 + run.status.connected * 100 });
    });

  it('reports once that a worker confirms a collection without making it', async (t) => {
    const conducted = await lying(t, 10);
    assertWarned(conducted, 'COLLECTION_MISSING', 'at 10', 'w1');
    const { fix = '' } = conducted.result.findings.find(({ code }) => code === 'COLLECTION_MISSING') ?? {};
    assert.match(fix, /control URL/);
    assert.doesNotMatch(fix, /inspect/, 'the run does not use it');
    assert.equal(conducted.result.verdict.status, 'SUSPECT');
  });

  it('a worker that confirms collections without making them has no memory at rest, and no capacity', async (t) => {
    const { memory, capacity } = (await lying(t, 20)).result;
    assert.deepEqual(Object.keys(memory.perConnectionBytes), ['nginxPss']);
    assert.deepEqual(Object.keys(memory.inService?.perConnectionBytes ?? {}), ['nginxPss']);
    assert.deepEqual([memory.perConnection, capacity.memoryLimited], [null, null]);
    assert.match(memory.absent.workerPss ?? '', /collection/);
    assert.equal(memory.absent.systemUsed, memory.absent.workerPss);
  });
});

describe('memory that is freed late', () => {
  /**
   * @param moreBytes memory of the workers beyond their connections, by the time of the run and by the time since the
   * disconnect
   */
  const freed = (t: TestContext, moreBytes: (ms: number, goneMs: number) => number) =>
    fromTheStart(t, {}, ({ context, status }, { time }) => {
      const { link, sampler } = context;
      let goneAtMs = Number.POSITIVE_INFINITY;
      sampler.reading = async () => {
        const more = moreBytes(time.nowMs, Math.max(0, time.nowMs - goneAtMs));
        return readingsOf({ workerRss: 100 * MB + status.connected * 1000 + more, redisRss: 10 * MB });
      };
      const { tell } = link;
      link.tell = (message) => {
        goneAtMs = time.nowMs;
        tell(message);
      };
    });

  it('memory that is freed late delays the baseline reading of memory', async (t) => {
    const conducted = await freed(t, (ms) => Math.max(0, 30 - ms / 250) * MB);
    assertWarned(conducted);
    assert.deepEqual(conducted.run.measurements.plateaus[0]?.layers.workerRss, 100 * MB);
    assert.equal(Math.round(conducted.result.memory.perConnectionBytes.workerRss?.slope ?? 0), 1000);
  });

  it('memory that is freed late delays the memory reading after the disconnect', async (t) => {
    const conducted = await freed(t, (_, goneMs) => Math.max(0, 30 - goneMs / 250) * MB);
    assertWarned(conducted);
    assert.deepEqual(conducted.run.measurements.afterDisconnect, { workerRss: 100 * MB, redisRss: 10 * MB });
  });

  it('memory that still falls at the time limit makes memory per connection an upper bound', async (t) => {
    const conducted = await freed(t, (ms) => Math.max(0, 300 - ms / 100) * MB);
    assertWarned(conducted, 'SERVER_NOT_IDLE', 'no connection was open', 'Workers', '20 s');
    const { perConnectionBytes, perConnection } = conducted.result.memory;
    assert.equal(perConnectionBytes.workerRss?.doubt, 'freed');
    assert.ok(perConnection && !isConclusiveCost(perConnection));
    assert.ok((perConnection.low95 ?? 1) < 1000 && 1000 < (perConnection.high95 ?? 0));
    assert.notEqual(perConnectionBytes.redisRss?.doubt, 'freed');
  });

  it('a layer whose memory still falls after the disconnect has no reading of kept memory', async (t) => {
    const conducted = await freed(t, (_, goneMs) => 500 * MB - goneMs * 10_000);
    assertWarned(conducted, 'SERVER_NOT_IDLE', 'after all connections had closed');
    assert.deepEqual(conducted.result.memory.residualBytes, { redisRss: 0 });
  });

  it('memory that is freed after the last reading is part of the memory kept after the disconnect', async (t) => {
    const conducted = await freed(t, (_, goneMs) => (goneMs > 0 ? 0 : 30 * MB));
    assert.equal(conducted.result.memory.perConnectionBytes.workerRss?.doubt, 'freed');
  });
});
