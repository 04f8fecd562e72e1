/** Runs on the stack's own Redis: as a Redis Cluster, and restarted in the middle. What it got is in run-wire.test.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { freePorts } from '../../server/stack/ports.ts';
import { findTool } from '../../server/stack/tools.ts';
import { goodResult, quickScript, startRun, strays } from '../helpers/run.ts';

const skip = findTool('redis-server') ? false : 'redis-server is not installed';

async function target(): Promise<string> {
  const [port] = await freePorts(1);
  return `http://127.0.0.1:${port}`;
}

describe('a run on Redis', { skip, concurrency: true }, () => {
  it('ten connections, and a Redis Cluster whose one node has the channel of the room', async (t) => {
    const script = quickScript({ target: await target() }, { workers: 2, broadcasts: { count: 10, interval: 0.1 } });
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
    // Each broadcast of a thousand characters goes to the other worker.
    assert.ok(outBytes > 10_000 && busiestNodeShare > 0.9, JSON.stringify(redis));
    // Of all three processes.
    assert.ok((memory.plateaus[0]?.redisRss ?? 0) > 3 * 5e6, JSON.stringify(memory.plateaus[0]));
    assert.match(run.output(), /Starting a Redis Cluster of 3 nodes, PM2 workers and nginx/);
    assert.deepEqual(strays(run), []);
  });

  it('a restart of Redis: the account has each copy that it kept from somebody, and nothing else is missing', async (t) => {
    const [connections, count] = [20, 200];
    const phases = [{ duration: 2, arrivalRate: connections / 2, rampTo: connections / 2 }, { pause: 2 }];
    const options = {
      workers: 2,
      // Redis can be back within a tenth of a second.
      broadcasts: { count, interval: 0.02 },
      fault: { kind: 'restart-redis', at: 1.05 },
      drain: { quiet: 0.3, deadline: 3 },
    };
    const script = quickScript({ target: await target(), phases }, options, {
      reconnection: { delay: 0.5, maxDelay: 1 },
    });
    const run = startRun(t, { script });
    const { fault, delivery } = await goodResult(run);
    assert.ok(fault?.broadcasts && delivery, run.output());
    assert.deepEqual([fault.replaced, fault.stayed, fault.dropped], [['Redis'], connections, 0]);
    const { sent, notSent, due, received, missed, absent } = fault.broadcasts;
    assert.deepEqual([due, received + missed, absent], [sent * connections, due, 0]);
    // What a worker was to send in the very moment in which its Redis went.
    assert.equal(delivery.broadcasts + notSent, count);
    // Whoever is on the worker that publishes gets it without Redis.
    const away = delivery.batches.map(({ received: got }) => connections - got).filter((lost) => lost > 0);
    assert.ok(away.length > 0, JSON.stringify(fault.broadcasts));
    assert.ok(
      away.every((lost) => lost === connections / 2),
      away.join(),
    );
    assert.equal(missed, (away.length * connections) / 2);
    assert.equal(delivery.lostConnected, missed);
    assert.equal(delivery.batches.at(-1)?.received, connections);
    assert.deepEqual(strays(run), []);
  });
});
