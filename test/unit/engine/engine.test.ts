import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { afterEach, describe, it } from 'node:test';
import { setEnvironmentData } from 'node:worker_threads';
import CapacityEngine from '../../../plugin/engine/engine.ts';
import type { FleetSettings } from '../../../plugin/fleet/fleet-messages.ts';
import { handOverSettings } from '../../../plugin/script/handed-over.ts';
import type { Script } from '../../../plugin/script/script.ts';
import { readSettings } from '../../../plugin/script/settings.ts';
import { STEP_KINDS } from '../../../plugin/virtual-user/steps/index.ts';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { describeError } from '../../../protocol/codes/errors.ts';
import { openThreadCarrier } from '../../../protocol/link/carrier.ts';
import type { EngineMessage, RunMessage } from '../../../protocol/link/link-messages.ts';
import { assertEach } from '../../helpers/columns.ts';
import { FakeFleet } from '../../helpers/fake-fleet.ts';
import { hookConfig } from '../../helpers/measurements.ts';
import { helpers } from '../../helpers/virtual-user.ts';

const RAMP = { duration: 2, arrivalRate: 6, rampTo: 6 };
const HELD = [{ connect: true }, { hold: true }];
const turn = () => new Promise((resolve) => setImmediate(resolve));
let runs = 0;

/** Starts an engine as in an Artillery worker, with the run's end of its link. */
function start(script: Partial<Script> & { flow?: unknown[]; options?: object; hook?: boolean; engine?: string }) {
  const { flow = HELD, options = {}, hook = false, engine: name = 'socketio-capacity' } = script;
  const fleet = new FakeFleet();
  const started: { settings: FleetSettings; processes: number }[] = [];
  const aborted: string[] = [];
  const warned: string[] = [];
  const testRunId = `engine-test-${process.pid}-${runs++}`;
  const events = new EventEmitter();
  const phases = [{ duration: 1, arrivalCount: 3 }, { pause: 5 }];
  const full: Script = {
    config: {
      target: 'http://127.0.0.1:1',
      phases,
      engines: { 'socketio-capacity': options },
      ...(hook && { plugins: { 'socketio-capacity': {} } }),
      ...script.config,
    },
    scenarios: [{ engine: name, flow }],
  };
  // Settings that the plugin has read in the main thread. The worker's script can differ.
  if (hook) handOverSettings(readSettings({ ...full, scenarios: [{ engine: name, flow: HELD }] }, STEP_KINDS, {}));
  const engine = new CapacityEngine(full, events, helpers, {
    startFleet: async (settings, processes) => {
      started.push({ settings, processes });
      return fleet;
    },
    runtime: {
      ...{ testRunId, engineId: '1', isWorker: true, fail: () => {} },
      warn: (message) => warned.push(message),
      abort: (error) => aborted.push(describeError(error)),
    },
  });
  const messages: EngineMessage[] = [];
  const arrived = new EventEmitter();
  const carrier = openThreadCarrier<RunMessage, EngineMessage>(testRunId);
  carrier.onMessage = (message) => {
    messages.push(message);
    arrived.emit(message.type, message);
  };
  const send = (message: RunMessage) => carrier.send(message);
  const play = () => {
    const outcome = { started: 0, callbacks: 0, error: undefined as unknown };
    const scenarioEvents = { emit: (event: string) => event === 'started' && outcome.started++ };
    const virtualUser = engine.createScenario(full.scenarios?.[0] ?? {}, scenarioEvents);
    const ended = new Promise<void>((resolve) => {
      virtualUser({ vars: {} }, (error) => {
        outcome.callbacks++;
        outcome.error = error;
        resolve();
      });
    });
    return { outcome, ended };
  };
  open.push(async () => {
    carrier.close();
    await engine.close();
  });
  return { engine, fleet, started, aborted, warned, events, phases, send, messages, arrived, play };
}

/** Starts an engine with the plugin. Resolves when arrivals can begin. */
async function startWithHook({ atUs, ...script }: Parameters<typeof start>[0] & { atUs?: number } = {}) {
  const started = start({ ...script, hook: true });
  const init = started.engine.init();
  await once(started.arrived, 'ready');
  assert.equal(await Promise.race([init, turn().then(() => 'waiting')]), 'waiting');
  started.send({ type: 'start', ...(atUs !== undefined && { atUs }) });
  await init;
  return started;
}

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

describe('an engine without the plugin', () => {
  it('an engine without the plugin starts a fleet for its worker’s share, and prints once how to get a result', async () => {
    const first = start({ options: { disconnectRate: 50 } });
    await first.engine.init();
    const [{ settings, processes } = {}, ...rest] = first.started;
    assert.deepEqual([processes, settings?.ledger, settings?.disconnectRatePerSec, rest], [1, false, 50, []]);
    assert.equal(Object.getPrototypeOf(first.engine.init).constructor.name, 'AsyncFunction');
    const second = start({ config: { phases: [{ duration: 1, arrivalCount: 3, worker: 2, totalWorkers: 2 }] } });
    const other = start({ engine: 'http' });
    await Promise.all([second.engine.init(), other.engine.init()]);
    assertEach([first, second, other], ({ warned }) => warned.length, [1, 0, 0]);
  });
});

describe('an engine with the plugin', () => {
  it('the engine lets Artillery initialize all workers, and only the last worker waits for the start', async () => {
    const phases = (worker: number) => [{ duration: 1, arrivalCount: 3, worker, totalWorkers: 2 }];
    const [first, second] = [1, 2].map((worker) => start({ hook: true, config: { phases: phases(worker) } }));
    assert.ok(first && second);
    const ready = once(first.arrived, 'ready');
    await first.engine.init();
    assert.deepEqual((await ready)[0].engines, 2);
    const init = second.engine.init();
    await once(second.arrived, 'ready');
    assert.equal(await Promise.race([init, turn().then(() => 'waiting')]), 'waiting');
    second.send({ type: 'start' });
    await init;
  });

  it('the engine delays all arrivals until the common start time', async () => {
    const atUs = monotonicUs() + 60_000;
    const { arrived, events, play } = await startWithHook({ atUs });
    const began = once(arrived, 'began');
    events.emit('phaseStarted', {});
    const { outcome } = play();
    assert.deepEqual([outcome.started, (await began)[0].beganAtUs], [1, atUs]);
    let status = { started: 0 };
    while (status.started === 0) [{ status }] = await once(arrived, 'status');
    assert.ok(monotonicUs() >= atUs);
  });

  it('the engine reports the current time as the start of arrivals if the common start time has passed', async () => {
    const { arrived, events, started } = await startWithHook({ atUs: monotonicUs() - 1000 });
    assert.equal(started[0]?.settings.ledger, true);
    const beforeUs = monotonicUs();
    const began = once(arrived, 'began');
    for (let phase = 0; phase < 2; phase++) events.emit('phaseStarted', {});
    assert.ok((await began)[0].beganAtUs >= beforeUs);
  });

  it('the engine waits for the start without a fleet if another engine drives the load', async () => {
    const { arrived, send, started } = await startWithHook({ engine: 'socketio-v3' });
    assert.equal(started.length, 0);
    send({ type: 'snapshot', requestId: 1 });
    assert.equal((await once(arrived, 'snapshot'))[0].snapshot.accounts.asked, 0);
  });

  it('the engine reports the server’s message for the first failure of each code', async () => {
    const { arrived, send, play, fleet } = await startWithHook();
    fleet.failures.push('http_401', 'http_401');
    for (let user = 0; user < 2; user++) await play().ended;
    send({ type: 'snapshot', requestId: 1 });
    const [{ snapshot }] = await once(arrived, 'snapshot');
    assert.deepEqual(snapshot.failures, { http_401: 2 });
    assert.deepEqual(snapshot.failureExamples, { http_401: 'refused: http_401' });
  });

  it('the engine holds connections through the phases, and handles release, snapshot, freeze and close', async () => {
    const { arrived, send, events, phases, play, fleet } = await startWithHook();
    const { outcome, ended } = play();
    const [{ status }] = await once(arrived, 'status');
    assert.partialDeepStrictEqual(status, { started: 1, connected: 1, holding: 1 });
    for (const phase of phases) events.emit('phaseCompleted', phase);
    send({ type: 'snapshot', requestId: 7 });
    assert.partialDeepStrictEqual((await once(arrived, 'snapshot'))[0], { requestId: 7, snapshot: { failures: {} } });
    send({ type: 'freeze', requestId: 8, broadcasts: [] });
    assert.deepEqual((await once(arrived, 'frozen'))[0].rows, []);
    assert.equal(fleet.only.closed, false);
    send({ type: 'release' });
    while (!fleet.only.closed) await once(arrived, 'status');
    assert.equal(outcome.callbacks, 0);
    send({ type: 'finish' });
    await ended;
    assert.equal(outcome.error, null);
    send({ type: 'close', requestId: 9 });
    assert.equal((await once(arrived, 'closed'))[0].requestId, 9);
    assert.equal(fleet.closed, true);
  });

  it('the engine reports a failed start instead of ending the run itself', async () => {
    for (const [code, script, release] of [
      ['CONFIG_INVALID', { flow: [{ nonsense: 1 }] }],
      ['VERSIONS_DIFFER', {}, '0.0.9+other'],
    ] as const) {
      const { engine, arrived, aborted } = start({ hook: true, ...script } as Parameters<typeof start>[0]);
      if (release) setEnvironmentData('socketio-capacity', { release, settings: {} });
      void engine.init();
      const [failed] = await once(arrived, 'failed');
      assert.deepEqual([failed.code, aborted], [code, []]);
    }
  });
});

it('the engine and its fleet use the settings of the plugin', async () => {
  const options = { timeout: 3, disconnectRate: 60 };
  const { engine, arrived, started } = start({ hook: true, options });
  const share = { hosts: 3, index: 1 };
  const plugins = { 'socketio-capacity': { broadcasts: { count: 5 }, rooms: { count: 4 } } };
  const engines = { 'socketio-capacity': { ...options, client: 'official' } };
  handOverSettings(hookConfig({}, { plugins, engines, phases: [RAMP] }, {}, {}, share));
  const ready = once(arrived, 'ready');
  void engine.init();
  await ready;
  const own = { client: 'official', broadcasts: { count: 5, bytes: 1000 }, rooms: { count: 4 } };
  assert.partialDeepStrictEqual(started[0]?.settings, { ...own, host: { index: 1, of: 3 }, disconnectRatePerSec: 20 });
});

it('the engine fails virtual users if it was not started, and calls back once', async () => {
  const { play } = start({});
  const { outcome, ended } = play();
  await ended;
  assert.deepEqual([outcome.started, outcome.callbacks], [1, 1]);
  assert.equal((outcome.error as { code: string }).code, 'engine_not_started');
});
