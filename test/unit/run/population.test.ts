import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FleetPopulation } from '../../../plugin/run/population.ts';
import type { FleetStatus } from '../../../protocol/link.ts';

const none = { connecting: 0, joining: 0, toOpen: 0, received: 0 };
const quiet: FleetStatus = { ...none, started: 10, connected: 9, joined: 9, holding: 9, failed: 1 };
const never = new AbortController().signal;

function population(status: FleetStatus): FleetPopulation {
  return new FleetPopulation({ status });
}

it('is settled when everybody holds or has failed', async () => {
  assert.equal(await population(quiet).settled(10, 0, never), true);
});

it('is not settled while somebody is missing, connecting or joining', async () => {
  for (const busy of [{ started: 9 }, { connecting: 1 }, { joining: 1 }, { toOpen: 1 }, { connected: 8 }]) {
    assert.equal(await population({ ...quiet, ...busy }).settled(10, 10, never), false);
  }
});

it('of a flow without `hold` is settled when it has been quiet for a second', async () => {
  const started = performance.now();
  assert.equal(await population({ ...quiet, holding: 0 }).settled(10, 10_000, never), true);
  assert.ok(performance.now() - started >= 1000);
});

it('waits no longer than the run', async () => {
  const stop = AbortSignal.timeout(20);
  assert.equal(await population({ ...quiet, joining: 1 }).settled(10, 60_000, stop), false);
  assert.equal(await population(quiet).gone(60_000, stop), false);
});
