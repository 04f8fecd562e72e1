import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { RunLink } from '../../../plugin/engine/run-link.ts';
import { EngineLink } from '../../../plugin/run/link.ts';
import { Signals } from '../../../plugin/virtual-user/signals.ts';
import { newTally } from '../../../plugin/virtual-user/tally.ts';
import { openThreadCarrier } from '../../../protocol/link/carrier.ts';
import { column } from '../../helpers/columns.ts';
import { FakeFleet } from '../../helpers/fake-fleet.ts';

/** Counts what it is asked for. */
class CountingFleet extends FakeFleet {
  asked = 0;

  override async snapshot() {
    this.asked++;
    return super.snapshot();
  }

  override async messages() {
    this.asked++;
    return { sent: 5, unanswered: 2, passedOver: 1 };
  }
}

test('an engine answers the run, and not the answers of other engines', async (t) => {
  const runId = randomUUID();
  const run = new EngineLink(openThreadCarrier(runId));
  const fleets = [new CountingFleet(), new CountingFleet()];
  for (const [index, fleet] of fleets.entries()) {
    const identity = { host: 'here', engine: String(index) };
    const options = { carrier: openThreadCarrier(runId), identity, signals: new Signals(), close: async () => {} };
    const link = new RunLink(options as ConstructorParameters<typeof RunLink>[0]);
    link.ready({ fleet, tally: newTally() }, 2);
  }
  t.after(() => run.close());
  await run.ready(new AbortController().signal);
  assert.equal((await run.snapshots()).length, 2);
  for (const fleet of fleets) fleet.asked = 0;
  assert.deepEqual(await run.messages('stop'), { sent: 10, unanswered: 4, passedOver: 2 });
  assert.equal((await run.snapshots()).length, 2);
  // What an answer of the other one would have caused has arrived before this one's.
  assert.equal((await run.snapshots()).length, 2);
  assert.deepEqual(column(fleets, 'asked'), [3, 3]);
});
