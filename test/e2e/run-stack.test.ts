/** Tests runs with a stack: each transport, compression, TLS, a Redis Cluster, and restarts of a worker or Redis. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Result } from '../../protocol/result/result.ts';
import { findTool } from '../../server/stack/tools.ts';
import { assertAsObserved, observeSockets } from '../helpers/observed-sockets.ts';
import { goodResult, quickScript, startRun } from '../helpers/run.ts';

const COUNT = 20;
const COUNTS = { websocket: 0, upgraded: 0, polling: 0, upgradeFailures: {} };
/** Connections of the run in which a worker is killed. */
const CONNECTIONS = 60;

interface Case {
  env: Record<string, string>;
  transports: Result['connections']['transports'];
  compression: Result['connections']['compression'];
}

const cases: Record<string, Case> = {
  'upgrades from polling to WebSocket, with compression': {
    env: { TRANSPORTS: 'default', COMPRESSION: 'on' },
    transports: { configured: 'default', ...COUNTS, upgraded: 10 },
    compression: { asked: true, granted: 10, byServer: true },
  },
  'uses WebSocket and TLS, without the compression that the server grants to browsers': {
    env: { TLS: 'on', CAPACITY_PER_MESSAGE_DEFLATE: 'on' },
    transports: { configured: 'websocket', ...COUNTS, websocket: 10 },
    compression: { asked: false, granted: 0, byServer: true },
  },
};

/** Returns a script for two workers with a fault of a worker or of Redis. */
function faultScript(connections: number, broadcasts: object, fault: object) {
  const phases = [{ duration: 2, arrivalRate: connections / 2, rampTo: connections / 2 }, { pause: 2 }];
  const options = { workers: 2, broadcasts, fault, drain: { quiet: 0.3, deadline: 3 } };
  return quickScript({ phases }, options, { reconnection: { delay: 0.5, maxDelay: 1 } });
}

describe('a run through the stack', { concurrency: 2 }, () => {
  for (const [name, { env, transports, compression }] of Object.entries(cases)) {
    it(`a run through the stack ${name}`, async (t) => {
      const script = quickScript({}, { broadcasts: { count: COUNT, interval: 0.1 } });
      const run = startRun(t, { script, env });
      const { connections, delivery, latency, environment, redis, run: facts } = await goodResult(run);
      assert.deepEqual(connections.transports, transports, run.output());
      assert.deepEqual([connections.opened, connections.held], [10, 10]);
      assert.equal(connections.stagesMs.change?.count, transports?.upgraded || undefined);
      assert.ok(Object.keys(connections.perWorker).length > 1, 'several workers');
      assert.equal(delivery?.coverage, 1);
      assert.equal(latency.sentinelMs?.count, COUNT, 'the reference receiver uses the same transport');
      assert.deepEqual(connections.compression, compression);
      assert.equal(environment.server?.tunings.perMessageDeflate, 'on');
      if (env.TLS) {
        assert.equal(facts.target, script.config.target.replace('http:', 'https:'));
        assert.deepEqual(connections.tlsHandshakes, { full: 10, resumed: 0 });
        assert.equal(connections.stagesMs.tls?.count, 10);
      }
      assert.ok((redis?.inBytes ?? 0) > 1000 * COUNT, JSON.stringify(redis));
    });
  }

  it('a run through the stack uses a Redis Cluster, and one node has the channel of the room', async (t) => {
    const script = quickScript({}, { workers: 2, broadcasts: { count: 10, interval: 0.1 } });
    const run = startRun(t, { script, env: { REDIS_NODES: '3', CAPACITY_ADAPTER: 'redis-sharded-dynamic' } });
    const { redis, delivery, memory } = await goodResult(run);
    assert.ok(redis && delivery, run.output());
    assert.deepEqual([delivery.received, delivery.expected], [100, 100]);
    const { nodes, outBytes, busiestNodeShare } = redis;
    assert.ok(nodes && busiestNodeShare !== null, run.output());
    assert.deepEqual(new Set(nodes.map(({ node }) => node)).size, 3);
    assert.equal(
      nodes.reduce((sum, node) => sum + node.outBytes, 0),
      outBytes,
    );
    assert.ok(outBytes > 10_000 && busiestNodeShare > 0.9, JSON.stringify(redis));
    assert.ok((memory.plateaus[0]?.redisRss ?? 0) > 3 * 5e6, JSON.stringify(memory.plateaus[0]));
    assert.match(run.output(), /Starting a Redis Cluster of 3 nodes, PM2 workers and nginx/);
  });

  it('a run through the stack counts exactly the copies lost by a restart of Redis', async (t) => {
    const [connections, count] = [20, 200];
    // Restarts Redis shortly after a broadcast, because Redis can be back within a tenth of a second.
    const script = faultScript(connections, { count, interval: 0.02 }, { kind: 'restart-redis', at: 1.05 });
    const run = startRun(t, { script });
    const { fault, delivery } = await goodResult(run);
    assert.ok(fault?.broadcasts && delivery, run.output());
    assert.deepEqual([fault.replaced, fault.stayed, fault.dropped], [['Redis'], connections, 0]);
    const { sent, notSent, unknown, due, received, missed, absent } = fault.broadcasts;
    assert.deepEqual([due, received + missed, absent], [sent * connections, due, 0]);
    // A broadcast that the worker publishes during the restart may fail.
    assert.equal(delivery.broadcasts + notSent + unknown, count);
    const losses = delivery.batches.map(({ received }) => connections - received).filter((lost) => lost > 0);
    assert.ok(losses.length > 0, JSON.stringify(fault.broadcasts));
    assert.ok(
      losses.every((lost) => lost === connections / 2),
      losses.join(),
    );
    assert.equal(missed, (losses.length * connections) / 2);
    assert.equal(delivery.lostConnected, missed);
    assert.equal(delivery.batches.at(-1)?.received, connections);
  });
});

// Runs alone, because its times are compared with an observer's times.
it('a run with a planned crash of a worker reports the cost of the crash, and is VALID', async (t) => {
  const script = faultScript(CONNECTIONS, { count: 30, interval: 0.2 }, { kind: 'kill-worker', at: 1.1 });
  const run = startRun(t, { script });
  const observations = findTool('ss') ? observeSockets(t, new URL(script.config.target).port) : [];
  const { fault, connections, delivery } = await goodResult(run);
  assert.ok(fault && delivery, run.output());
  assert.deepEqual([fault.kind, fault.replaced, fault.connections], ['kill-worker', ['w0'], CONNECTIONS]);
  // nginx has spread the connections over both workers, so half of them stay connected.
  assert.deepEqual([fault.stayed, fault.dropped, fault.reconnected, fault.notReconnected], [30, 30, 30, {}]);
  assert.deepEqual([fault.drops, fault.returns], [30, 30]);
  assert.equal(connections.held, CONNECTIONS);
  const { p50, all } = fault.reconnectMs;
  // The first attempt comes after at least 250 ms, because half of its delay is random.
  assert.ok(p50 !== null && all !== null && p50 >= 250 && p50 <= all && all < 5000, JSON.stringify(fault.reconnectMs));
  if (observations.length > 0) assertAsObserved(observations, fault);
  assert.equal(Math.min(...fault.curve.map(({ connected }) => connected)), CONNECTIONS - 30);
  assert.equal(fault.curve.at(-1)?.connected, CONNECTIONS);
  assert.equal(fault.perWorker.before.w0, 30);
  // Clients that were disconnected during a broadcast missed it.
  const { broadcasts } = fault;
  assert.ok(broadcasts && broadcasts.sent > 0);
  assert.equal(broadcasts.due, broadcasts.received + broadcasts.missed);
  // At least one broadcast was missed, unless the killed worker should have published it.
  const { missed, sent } = broadcasts;
  const notSent = broadcasts.notSent + broadcasts.unknown;
  assert.ok(missed + 30 * notSent >= 30 && missed <= 30 * (sent + 1), JSON.stringify(broadcasts));
  assert.equal(delivery.batches.at(-1)?.received, CONNECTIONS);
  assert.match(run.output(), /a worker killed: 30 of 60 connections dropped, all reconnected after/);
  assert.match(readFileSync(join(run.directory, 'results/latest/report.html'), 'utf8'), /Connections after the fault/);
});
