import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { NO_STATUS } from '../../../plugin/run/link.ts';
import { FleetPopulation, ServerPopulation } from '../../../plugin/run/population.ts';
import type { FleetStatus } from '../../../protocol/link/snapshot.ts';
import { workerStats } from '../../helpers/fake-run.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

const never = new AbortController().signal;
const all = (count: number) => ({ count, mayBeSkipped: false });
const some = (count: number) => ({ count, mayBeSkipped: true });

describe('counts of the fleets', () => {
  /** Counts of ten arrivals, one of them failed. */
  const QUIET: FleetStatus = { ...NO_STATUS, started: 10, connected: 9, joined: 9, holding: 9, failed: 1 };
  const SKIPPED = { started: 4, connected: 4, holding: 4, failed: 0 };

  /** Differing counts, later counts, and seconds until the connections count as settled, if they do. */
  const CASES: [
    what: string,
    now: Partial<FleetStatus>,
    later: [ms: number, Partial<FleetStatus>],
    seconds?: number,
  ][] = [
    ['all connections hold or have failed', {}, [0, {}], 0],
    ['some arrivals have not started', { started: 9 }, [0, {}]],
    ['some arrivals run on another engine', { started: 6, connected: 5, holding: 5, others: 4 }, [0, {}], 0],
    ['one connection opens', { connecting: 1 }, [0, {}]],
    ['one connection joins', { joining: 1 }, [0, {}]],
    ['one connection upgrades', { upgrading: 1 }, [0, {}]],
    ['a flow has no `hold`', { holding: 0, joining: 1 }, [3000, { joining: 0 }], 4],
    ['processes report later than the engine', { connected: 8, joining: 1 }, [3000, { joining: 0 }], 4],
    ['arrivals may be skipped', SKIPPED, [900, { started: 6, connected: 6, holding: 6 }], 2],
  ];
  for (const [what, now, [ms, changes], seconds] of CASES) {
    it(`arrivals ${seconds === undefined ? 'do not settle' : `settle after ${seconds} s`} if ${what}`, async (t) => {
      const time = new VirtualTime(t);
      const status = { ...QUIET, ...now };
      setTimeout(() => Object.assign(status, changes), ms);
      const arrivals = now === SKIPPED ? some(10) : all(10);
      const settled = await time.until(new FleetPopulation({ status }).settled(arrivals, 10_000, never));
      assert.equal(settled, seconds !== undefined);
      assert.ok(Math.abs(time.nowMs - (seconds ?? 10) * 1000) <= 200, `${time.nowMs} ms`);
    });
  }

  it('fleets count as disconnected when none of their connections is left', async (t) => {
    const time = new VirtualTime(t);
    const status = { ...QUIET, connected: 1 };
    const population = new FleetPopulation({ status });
    assert.equal(await time.until(population.gone(100, never)), false);
    status.connected = 0;
    assert.equal(await population.gone(0, never), true);
    assert.equal(population.connections(), 0);
  });

  it('stops waiting for the fleets when the run has ended', async (t) => {
    const time = new VirtualTime(t);
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 20);
    const population = new FleetPopulation({ status: { ...QUIET, joining: 1 } });
    assert.equal(await time.until(population.settled(all(10), 60_000, stop.signal)), false);
    assert.equal(await time.until(population.gone(60_000, stop.signal)), false);
    assert.ok(time.nowMs < 100);
  });
});

describe('counts of the workers', () => {
  function start(t: TestContext) {
    const time = new VirtualTime(t);
    let counts: number[] | undefined = [0, 0];
    let polls = 0;
    const stats = async () => {
      polls++;
      if (!counts) throw new Error('a worker is gone');
      return counts.map((count, index) => workerStats(`w${index}`, count));
    };
    const population = new ServerPopulation({ stats });
    t.after(() => population.close());
    /** @param now count of each worker; empty if no worker replies */
    const count = async (...now: number[]) => {
      counts = now.length > 0 ? now : undefined;
      await time.pass(600);
      return population.connections();
    };
    return { time, population, count, polls: () => polls };
  }

  it('the workers’ connection count excludes the probe, and does not change while a worker is silent', async (t) => {
    const { count } = start(t);
    assert.deepEqual([await count(4, 3), await count()], [6, 6]);
    assert.equal(await count(0, 0), 0, 'none is less than none');
  });

  it('arrivals have settled when the workers count all connections as open', async (t) => {
    const { time, population, count } = start(t);
    await count(4, 3);
    assert.equal(await time.until(population.settled(all(7), 1000, never)), false);
    assert.equal(await population.settled(all(6), 0, never), true);
    assert.equal(await time.until(population.gone(1000, never)), false);
    await count(1, 0);
    assert.equal(await population.gone(0, never), true);
  });

  it('a phase that may skip arrivals has settled once no connection opened for longer than a poll', async (t) => {
    const { time, population, count } = start(t);
    await count(4, 3);
    const before = time.nowMs;
    assert.equal(await time.until(population.settled(some(9), 10_000, never)), true);
    assert.ok(time.nowMs - before >= 1500 && time.nowMs - before < 1800, `${time.nowMs - before} ms`);
  });

  it('polls no workers after the end of the run', async (t) => {
    const { time, population, polls } = start(t);
    population.close();
    await time.pass(2000);
    assert.equal(polls(), 0);
  });
});
