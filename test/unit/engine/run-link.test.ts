import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { RunLink } from '../../../plugin/engine/run-link.ts';
import { EngineLink } from '../../../plugin/run/link.ts';
import { RunSignals } from '../../../plugin/virtual-user/signals.ts';
import { newUserTally } from '../../../plugin/virtual-user/tally.ts';
import { openThreadCarrier } from '../../../protocol/link/carrier.ts';
import { column } from '../../helpers/columns.ts';
import { FakeFleet } from '../../helpers/fake-fleet.ts';

/** Counts the requests that it receives. */
class CountingFleet extends FakeFleet {
  requests = 0;

  override async snapshot() {
    this.requests++;
    return super.snapshot();
  }

  override async messages() {
    this.requests++;
    return { sent: 5, unanswered: 2, skippedByServer: 1 };
  }
}

test('an engine replies to requests of the run, and ignores replies of other engines', async (t) => {
  const runId = randomUUID();
  const run = new EngineLink(openThreadCarrier(runId));
  const fleets = [new CountingFleet(), new CountingFleet()];
  for (const [index, fleet] of fleets.entries()) {
    const identity = { host: 'here', engine: String(index) };
    const options = { carrier: openThreadCarrier(runId), identity, signals: new RunSignals(), close: async () => {} };
    const link = new RunLink(options as ConstructorParameters<typeof RunLink>[0]);
    link.ready({ fleet, tally: newUserTally() }, 2);
  }
  t.after(() => run.close());
  await run.ready(new AbortController().signal);
  assert.equal((await run.snapshots()).length, 2);
  for (const fleet of fleets) fleet.requests = 0;
  assert.deepEqual(await run.messages('stop'), { sent: 10, unanswered: 4, skippedByServer: 2 });
  assert.equal((await run.snapshots()).length, 2);
  // A request caused by the other engine's reply would have arrived before this reply.
  assert.equal((await run.snapshots()).length, 2);
  assert.deepEqual(column(fleets, 'requests'), [3, 3]);
});
