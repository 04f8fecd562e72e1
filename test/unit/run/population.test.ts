import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { NO_STATUS } from '../../../plugin/run/link.ts';
import { FleetPopulation, ServerPopulation } from '../../../plugin/run/population.ts';
import type { FleetStatus } from '../../../protocol/link/status.ts';
import { workerStats } from '../../helpers/fake-run.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

const never = new AbortController().signal;
const all = (count: number) => ({ count, mayBeSkipped: false });
const some = (count: number) => ({ count, mayBeSkipped: true });

describe('as the fleets count them', () => {
  /** Ten arrivals, of which one failed. */
  const QUIET: FleetStatus = { ...NO_STATUS, started: 10, connected: 9, joined: 9, holding: 9, failed: 1 };

  it('connections are settled when everybody holds or has failed', async () => {
    assert.equal(await new FleetPopulation({ status: QUIET }).settled(all(10), 0, never), true);
  });

  for (const busy of [{ started: 9 }, { connecting: 1 }, { joining: 1 }, { upgrading: 1 }]) {
    it(`they are not while there are ${JSON.stringify(busy)}`, async (t) => {
      const time = new VirtualTime(t);
      const population = new FleetPopulation({ status: { ...QUIET, ...busy } });
      assert.equal(await time.until(population.settled(all(10), 5000, never)), false);
      assert.ok(time.nowMs >= 5000);
    });
  }

  for (const [what, changes] of [
    ['a flow without `hold`', { holding: 0 }],
    ['processes that report later than the engine that holds', { connected: 8 }],
  ] as const) {
    it(`those of ${what} are when it has been quiet for a second`, async (t) => {
      const time = new VirtualTime(t);
      const status = { ...QUIET, ...changes, joining: 1 };
      setTimeout(() => Object.assign(status, { joining: 0 }), 3000);
      assert.equal(await time.until(new FleetPopulation({ status }).settled(all(10), 10_000, never)), true);
      assert.ok(time.nowMs >= 3900 && time.nowMs < 4200, `${time.nowMs} ms`);
    });
  }

  it('those of phases that may skip arrivals are when no more have started for a second', async (t) => {
    const time = new VirtualTime(t);
    const status = { ...QUIET, started: 4, connected: 4, holding: 4, failed: 0 };
    setTimeout(() => Object.assign(status, { started: 6, connected: 6, holding: 6 }), 900);
    assert.equal(await time.until(new FleetPopulation({ status }).settled(some(10), 10_000, never)), true);
    assert.ok(time.nowMs >= 1900 && time.nowMs < 2200, `${time.nowMs} ms`);
  });

  it('they are gone when none is left', async (t) => {
    const time = new VirtualTime(t);
    const status = { ...QUIET, connected: 1 };
    const population = new FleetPopulation({ status });
    assert.equal(await time.until(population.gone(100, never)), false);
    status.connected = 0;
    assert.equal(await population.gone(0, never), true);
    assert.equal(population.connections(), 0);
  });

  it('nobody waits for them longer than the run', async (t) => {
    const time = new VirtualTime(t);
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 20);
    const population = new FleetPopulation({ status: { ...QUIET, joining: 1 } });
    assert.equal(await time.until(population.settled(all(10), 60_000, stop.signal)), false);
    assert.equal(await time.until(population.gone(60_000, stop.signal)), false);
    assert.ok(time.nowMs < 100);
  });
});

describe('as the workers count them', () => {
  function start(t: TestContext) {
    const time = new VirtualTime(t);
    let counts: number[] | undefined = [0, 0];
    let polls = 0;
    const stats = async () => {
      polls++;
      if (!counts) throw new Error('a worker is gone');
      return counts.map((count, index) => workerStats(`w${index}`, count));
    };
    const population = new ServerPopulation({ stats }, 1);
    t.after(() => population.close());
    const count = async (...now: number[]) => {
      counts = now;
      await time.pass(600);
      return population.connections();
    };
    return { time, population, count, fail: () => (counts = undefined), polls: () => polls };
  }

  it("connections are the sum without the probe's", async (t) => {
    const { count } = start(t);
    assert.equal(await count(4, 3), 6);
    assert.equal(await count(0, 0), 0, 'none is less than none');
  });

  it('they stay as they were while a worker does not answer', async (t) => {
    const { time, population, count, fail } = start(t);
    await count(4, 3);
    fail();
    await time.pass(2000);
    assert.equal(population.connections(), 6);
  });

  it('they are settled when all have arrived, and gone when none is left', async (t) => {
    const { time, population, count } = start(t);
    await count(4, 3);
    assert.equal(await time.until(population.settled(all(7), 1000, never)), false);
    assert.equal(await population.settled(all(6), 0, never), true);
    assert.equal(await time.until(population.gone(1000, never)), false);
    await count(1, 0);
    assert.equal(await population.gone(0, never), true);
  });

  it('those of phases that may skip arrivals are when none has come for longer than they are polled', async (t) => {
    const { time, population, count } = start(t);
    await count(4, 3);
    const before = time.nowMs;
    assert.equal(await time.until(population.settled(some(9), 10_000, never)), true);
    assert.ok(time.nowMs - before >= 1500 && time.nowMs - before < 1800, `${time.nowMs - before} ms`);
  });

  it('nobody asks for them after the end', async (t) => {
    const { time, population, polls } = start(t);
    population.close();
    await time.pass(2000);
    assert.equal(polls(), 0);
  });
});
