/**
 * Tests that all hosts of a run start their arrivals at the same time, despite different delays of the order and of
 * Artillery.
 */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import CapacityEngine from '../../../plugin/engine/engine.ts';
import { EngineLink } from '../../../plugin/run/link.ts';
import { handOverSettings } from '../../../plugin/script/handed-over.ts';
import type { Script } from '../../../plugin/script/script.ts';
import { CuttableLink } from '../../helpers/cuttable-link.ts';
import { FakeFleet } from '../../helpers/fake-fleet.ts';
import { newAgent, startHub } from '../../helpers/hosts.ts';
import { hookConfig } from '../../helpers/measurements.ts';
import { eventually } from '../../helpers/poll.ts';
import { helpers } from '../../helpers/virtual-user.ts';

const NEVER = new AbortController().signal;
/**
 * Delays in milliseconds: of the start order to each host, and of Artillery on the host from the order to its first
 * phase.
 */
const HOSTS = [
  { host: 'a', orderMs: 0, phaseMs: 0 },
  { host: 'b', orderMs: 0, phaseMs: 150 },
  { host: 'c', orderMs: 150, phaseMs: 50 },
];

it('all hosts start their arrivals at the same time', async (t) => {
  handOverSettings(hookConfig());
  const { hub, join } = await startHub(t, HOSTS.length);
  const link = new EngineLink(hub, { hosts: HOSTS.length });
  const joined = hub.joined(5000, NEVER);
  const hosts = await Promise.all(
    HOSTS.map(async (delays) => {
      const wire = await CuttableLink.open(t, join.port);
      const { agent, runId } = newAgent(t, { ...join, port: wire.port }, { host: delays.host, hosts: HOSTS.length });
      const script: Script = {
        config: {
          target: 'http://127.0.0.1:1',
          phases: [{ duration: 1, arrivalCount: 3 }],
          engines: { 'socketio-capacity': {} },
          plugins: { 'socketio-capacity': {} },
        },
        scenarios: [{ engine: 'socketio-capacity', flow: [{ connect: true }, { hold: true }] }],
      };
      const events = new EventEmitter();
      const runtime = { testRunId: runId, engineId: '1', isWorker: true };
      const engine = new CapacityEngine(script, events, helpers, {
        startFleet: async () => new FakeFleet(),
        runtime: { ...runtime, warn: () => {}, abort: assert.fail, fail: assert.fail },
      });
      t.after(() => engine.close());
      const begun = engine.init().then(async () => {
        await delay(delays.phaseMs);
        events.emit('phaseStarted', {});
      });
      await agent.join();
      return { ...delays, wire, begun };
    }),
  );
  await joined;
  await link.ready(NEVER);
  for (const { wire, orderMs } of hosts) if (orderMs > 0) wire.cut();
  const stall = monitorEventLoopDelay({ resolution: 5 });
  stall.enable();
  link.start();
  for (const { wire, orderMs } of hosts) {
    if (orderMs === 0) continue;
    await delay(orderMs);
    wire.mend();
  }
  await Promise.all(hosts.map(({ begun }) => begun));
  const times = () => hub.hosts.map(({ beganAtUs }) => beganAtUs);
  await eventually('all beginnings', () => times().every((atUs) => atUs !== undefined));
  const began = times().map(Number);
  stall.disable();
  // All hosts use the clock of this process, so only a stall of the process can delay a host.
  const skewMs = (Math.max(...began) - Math.min(...began)) / 1000;
  const stallMs = stall.max / 1e6;
  assert.ok(skewMs <= Math.max(20, stallMs), `${skewMs} ms, with a stall of ${stallMs} ms`);
});
