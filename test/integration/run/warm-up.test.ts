/** Tests the warm-up connections before the baseline: their number, their cleanup, and refusals. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import { RunLink } from '../../../plugin/engine/run-link.ts';
import { observedFindings } from '../../../plugin/findings/checks/observed/observed.ts';
import { Fleet } from '../../../plugin/fleet/fleet.ts';
import { EngineLink } from '../../../plugin/run/link.ts';
import { workerIdentityOf } from '../../../plugin/run/measurements/worker-identity.ts';
import { warmUpWorkers } from '../../../plugin/run/warm-up.ts';
import { ControlClients } from '../../../plugin/samplers/index.ts';
import { RunSignals } from '../../../plugin/virtual-user/signals.ts';
import { newUserTally } from '../../../plugin/virtual-user/tally.ts';
import { openThreadCarrier } from '../../../protocol/link/carrier.ts';
import type { EngineMessage, RunMessage } from '../../../protocol/link/link-messages.ts';
import { startApp, TOKEN } from '../../helpers/app.ts';
import { FakeRun } from '../../helpers/fake-run.ts';
import { fleetSettings } from '../../helpers/fleet.ts';
import { ENGINE_1, NO_RECEIPTS } from '../../helpers/measurements.ts';
import { eventually } from '../../helpers/poll.ts';

/** Starts an engine with fleet processes, and the run's link to it. */
async function startEngine(t: TestContext, url: string) {
  const fleet = await Fleet.start(fleetSettings(url), 2);
  t.after(() => fleet.close());
  const testRunId = randomUUID();
  const link = new EngineLink(openThreadCarrier(testRunId));
  t.after(() => link.close());
  const engine = { carrier: openThreadCarrier<EngineMessage, RunMessage>(testRunId), identity: ENGINE_1 };
  new RunLink({ ...engine, signals: new RunSignals(), close: () => fleet.close() }).ready(
    { fleet, tally: newUserTally() },
    1,
  );
  await link.ready(AbortSignal.timeout(60_000));
  return { fleet, link };
}

async function start(t: TestContext, ledger: boolean, warmUp: number, signal = new AbortController().signal) {
  const app = await startApp(t);
  const control = await ControlClients.connect([app.controlUrl], TOKEN);
  t.after(() => control.close());
  const seen = { connections: 0, rooms: new Set<string>(), maxConcurrent: 0 };
  app.io.on('connection', () => {
    seen.connections++;
    seen.maxConcurrent = Math.max(seen.maxConcurrent, app.io.engine.clientsCount);
  });
  app.io.of('/').adapter.on('create-room', (room) => seen.rooms.add(room));
  const [stats] = await control.stats();
  assert.ok(stats);
  const run = new FakeRun({ warmUp }, { target: app.url });
  run.measurements.workersAtStart = [workerIdentityOf(stats)];
  const { fleet, link } = ledger ? await startEngine(t, app.url) : {};
  const context = { ...run.context, control, link: link ?? run.context.link, ledger, signal };
  const connectionsNow = async () => (await control.stats())[0]?.connections;
  return { app, context, seen, measurements: run.measurements, control, connectionsNow, fleet };
}

for (const ledger of [true, false]) {
  describe(ledger ? 'by the engine and its fleet' : 'by the hook, for stock engines', () => {
    test('the warm-up opens connections to each worker, a few at a time, in their own room, and closes all', async (t) => {
      const { context, seen, measurements, control, connectionsNow } = await start(t, ledger, 60);
      await warmUpWorkers(context);
      assert.equal(seen.connections, 60);
      assert.ok(seen.maxConcurrent <= 20, `${seen.maxConcurrent} at once`);
      assert.ok(seen.rooms.has('capacity:warm-up') && !seen.rooms.has('capacity'));
      assert.ok(((await control.stats())[0]?.broadcasts ?? 0) > 0);
      assert.equal(await connectionsNow(), 0);
      assert.deepEqual(observedFindings(measurements.observations), []);
    });

    test('a warm-up that the server refuses stops connecting, and makes the run SUSPECT', async (t) => {
      const { app, context, seen, measurements, connectionsNow } = await start(t, ledger, 1000);
      app.io.use((_socket, next) => next(seen.connections < 30 ? undefined : new Error('enough')));
      await warmUpWorkers(context);
      const [warning] = observedFindings(measurements.observations);
      assert.equal(warning?.code, 'CONNECTIONS_FAILED');
      assert.match(warning.message, /enough/);
      assert.equal(seen.connections, 30);
      assert.equal(await connectionsNow(), 0);
    });

    test('the warm-up ends on Ctrl-C, and leaves no connection', async (t) => {
      const abort = new AbortController();
      const { app, context, seen, measurements } = await start(t, ledger, 100_000, abort.signal);
      app.io.on('connection', () => {
        if (seen.connections === 30) abort.abort();
      });
      await warmUpWorkers(context);
      assert.ok(seen.connections < 60);
      assert.deepEqual(observedFindings(measurements.observations), []);
      await eventually('all have disconnected', () => app.io.engine.clientsCount === 0);
    });
  });
}

test('a run has no warm-up if the option is 0', async (t) => {
  for (const ledger of [true, false]) {
    const { context, seen } = await start(t, ledger, 0);
    await warmUpWorkers(context);
    assert.equal(seen.connections, 0);
  }
});

test('warm-up connections appear in no count of the fleet', async (t) => {
  const { context, seen, fleet } = await start(t, true, 100);
  await warmUpWorkers(context);
  assert.equal(seen.connections, 100);
  const { accounts, disconnects, perWorker, openings, receipts } = (await fleet?.snapshot()) ?? {};
  assert.deepEqual([accounts?.asked, disconnects, perWorker, openings?.counts], [0, {}, {}, []]);
  assert.deepEqual(receipts, NO_RECEIPTS);
});

test('a server without a control port gets at most as many warm-up connections as the load has', async (t) => {
  const { context, seen } = await start(t, false, 1000);
  const config = { ...context.config, load: { ...context.config.load, connections: 7 } };
  await warmUpWorkers({ ...context, config, control: await ControlClients.connect([], TOKEN) });
  assert.equal(seen.connections, 7);
});
