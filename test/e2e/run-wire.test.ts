/** Runs through the stack over each transport, with and without compression and TLS; and what Redis got of them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Result } from '../../protocol/result/result.ts';
import { freePorts } from '../../server/stack/ports.ts';
import { findTool } from '../../server/stack/tools.ts';
import { bytesOfCommand, monitorRedis } from '../helpers/redis-observer.ts';
import { goodResult, quickScript, startRun, strays } from '../helpers/run.ts';

/** Broadcasts. */
const COUNT = 20;
const COUNTS = { websocket: 0, upgraded: 0, polling: 0, upgradeFailures: {} };

interface Case {
  env: Record<string, string>;
  transports: Result['connections']['transports'];
  compression: Result['connections']['compression'];
}

const cases: Record<string, Case> = {
  'by polling and then WebSocket, with compression': {
    env: { TRANSPORTS: 'default', COMPRESSION: 'on' },
    transports: { configured: 'default', ...COUNTS, upgraded: 10 },
    compression: { asked: true, granted: 10, byServer: true },
  },
  'by WebSocket and TLS, without the compression that the server gives to browsers': {
    env: { TLS: 'on', CAPACITY_PER_MESSAGE_DEFLATE: 'on' },
    transports: { configured: 'websocket', ...COUNTS, websocket: 10 },
    compression: { asked: false, granted: 0, byServer: true },
  },
};

describe('a run through the stack', { concurrency: true }, () => {
  for (const [name, { env, transports, compression }] of Object.entries(cases)) {
    it(name, async (t) => {
      const [port] = await freePorts(1);
      const script = quickScript(
        { target: `http://127.0.0.1:${port}` },
        { broadcasts: { count: COUNT, interval: 0.1 } },
      );
      const run = startRun(t, { script, env });
      await run.noted('plateau');
      const observer = findTool('redis-server') ? await monitorRedis(run.stack()?.redisUrl ?? '') : undefined;
      t.after(() => observer?.close());
      const { connections, delivery, latency, environment, redis, run: facts } = await goodResult(run);
      assert.deepEqual(connections.transports, transports, run.output());
      assert.deepEqual([connections.opened, connections.held], [10, 10]);
      assert.equal(connections.stagesMs.change?.count, transports?.upgraded || undefined);
      assert.ok(Object.keys(connections.perWorker).length > 1, 'several workers');
      assert.equal(delivery?.coverage, 1);
      assert.equal(latency.sentinelMs?.count, COUNT, 'the reference receiver connects likewise');
      assert.deepEqual(connections.compression, compression);
      assert.equal(environment.server?.tunings.perMessageDeflate, 'on');
      if (env.TLS) {
        assert.equal(facts.target, `https://127.0.0.1:${port}`);
        assert.deepEqual(connections.tlsHandshakes, { full: 10, resumed: 0 });
        assert.equal(connections.stagesMs.tls?.count, 10);
      }
      if (observer) assertAsObserved(redis, observer.commands);
      assert.deepEqual(strays(run), []);
    });
  }
});

/** What Redis got for the broadcasts is what its MONITOR saw of them. */
function assertAsObserved(redis: Result['redis'], commands: Buffer[][]): void {
  const named = commands.filter(([name]) => /publish/i.test(String(name)));
  const ofRoom = named.filter(([, channel]) => String(channel).endsWith('#/#capacity#'));
  assert.equal(ofRoom.length, COUNT, named.map(([, channel]) => String(channel)).join('\n'));
  const bytes = ofRoom.reduce((sum, command) => sum + bytesOfCommand(command), 0);
  // The workers also count the room's members through Redis; what that costs is taken off by its mean.
  assert.ok(redis && Math.abs(redis.inBytes - bytes) < 0.02 * bytes, `${redis?.inBytes}, not ${bytes}`);
}
