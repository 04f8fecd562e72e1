/**
 * Tests that an instrumented server survives any input of clients, keeps replying, and keeps no memory of the input.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import type { WorkerStats } from '../../../protocol/wire/events.ts';
import { ask, connectClient, connectControl, TOKEN } from '../../helpers/app.ts';
import {
  BROKEN_PACKETS,
  HOSTILE_REQUESTS,
  hostileArguments,
  hostilePackets,
  RawClient,
  sendRequests,
} from '../../helpers/hostile.ts';
import { startLeakyServer } from '../../helpers/plain-server.ts';
import { startProcess, WORKER } from '../../helpers/process.ts';
import { freePort } from '../../helpers/redis.ts';

const MB = 2 ** 20;

interface Target {
  port: number;
  controlPort: number;
}

async function startWorker(t: TestContext, webSockets: string): Promise<Target> {
  const [port, controlPort] = [await freePort(), await freePort()];
  const env = { CAPACITY_TOKEN: TOKEN, CAPACITY_WEBSOCKETS: webSockets, CAPACITY_LOG_LEVEL: 'silent' };
  const ports = { CAPACITY_PORT: `${port}`, CAPACITY_CONTROL_PORT: `${controlPort}` };
  const { child } = startProcess(t, process.execPath, [WORKER], {
    env: { PATH: process.env.PATH, ...env, ...ports },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await once(child, 'message');
  return { port, controlPort };
}

/** Starts a user's server with `instrument(io)` in its own process. */
async function startInstrumented(t: TestContext): Promise<Target> {
  const { url, control } = await startLeakyServer(t, {});
  return { port: Number(new URL(url).port), controlPort: Number(new URL(control.urls[0] ?? '').port) };
}

const SERVERS: Record<string, (t: TestContext) => Promise<Target>> = {
  'a server with instrument(io)': startInstrumented,
  'a worker of the stack': (t) => startWorker(t, 'ws'),
  'a plain worker': (t) => startWorker(t, 'plain-ws'),
};

/** Events of the measured namespace, with the fields of their arguments. */
const EVENTS = {
  join_room: { clientKey: '"capacity"' },
  broadcast_echo: { seq: '1', sentAtUs: '1', data: '"x"' },
  event_batch: { n: '1' },
  unknown: {},
};
const REQUESTS = {
  broadcast: { room: '"capacity"', bytes: '1', seq: '1', binary: 'false', atUs: '1', count: 'false' },
  ...Object.fromEntries(
    ['members', 'servers', 'gc', 'stats', 'resources', 'batches', 'eventLoop', 'time', 'unknown', 'constructor'].map(
      (request) => [request, {}],
    ),
  ),
};

const WITH_TOKEN = { authorization: `Bearer ${TOKEN}` };
/** Request that opens a polling session on the control port. The session outlives its connection. */
const POLLING = 'GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: HOST\r\n';

for (const [name, start] of Object.entries(SERVERS)) {
  describe(name, () => {
    it(`the server survives every malformed packet and request, and frees their memory: ${name}`, {
      timeout: 120_000,
    }, async (t) => {
      const { port, controlPort } = await start(t);
      const control = await connectControl(controlPort);
      t.after(() => control.disconnect());
      const witness = await connectClient(`http://127.0.0.1:${port}`);
      t.after(() => witness.disconnect());
      const heapBytes = async () => {
        await ask(control, 'gc');
        const { heapUsedBytes, externalBytes } = await ask<WorkerStats>(control, 'stats');
        return heapUsedBytes + externalBytes;
      };

      /** Clients that stay open, so that memory held for them is counted. */
      const heldClients: RawClient[] = [];
      t.after(() => Promise.all(heldClients.map((client) => client.close())));
      async function attack(large: boolean) {
        for (const [event, shape] of Object.entries(EVENTS)) {
          const client = await RawClient.connect(port);
          for (const packet of hostilePackets(event, hostileArguments(shape, large))) client.send([packet]);
          await client.read();
          await client.close();
        }
        for (const packet of BROKEN_PACKETS) {
          for (const each of [port, controlPort]) {
            const client = await RawClient.connect(each, '40', WITH_TOKEN);
            client.send([packet, '42["join_room","capacity"]']);
            await client.read();
            await client.close();
          }
        }
        const joins = await RawClient.connect(port);
        for (let index = 0; index < (large ? 60 : 1); index++) {
          joins.send([`42${index}["join_room","capacity:${index}${'x'.repeat(900_000)}"]`]);
          await joins.read();
        }
        const nonReadingClient = await RawClient.connect(port);
        nonReadingClient.deafen();
        // Sends more than the buffers of the kernel can hold.
        nonReadingClient.send(Array(large ? 50_000 : 1).fill(`421["join_room","capacity:${'x'.repeat(240)}"]`));
        await nonReadingClient.sent();
        heldClients.push(joins, nonReadingClient);

        for (const args of hostileArguments({ token: '"x"' })) {
          await (await RawClient.connect(controlPort, `40/capacity,${args[0] ?? ''}`, WITH_TOKEN)).close();
        }
        for (const [request, shape] of Object.entries(REQUESTS)) {
          // Requests only few garbage collections, because they take long.
          const lists = request === 'gc' ? [[], ['1e400']] : hostileArguments(shape);
          const client = await RawClient.connect(controlPort, '40/capacity,', WITH_TOKEN);
          client.send(hostilePackets(request, lists, '/capacity,'));
          await client.read();
          await client.close();
        }
        await Promise.all([controlPort, port].map((each) => sendRequests(each, HOSTILE_REQUESTS)));
        for (let times = large ? 60 : 1; times > 0; times--) await sendRequests(controlPort, Array(50).fill(POLLING));
        assert.equal((await witness.timeout(60_000).emitWithAck('join_room', 'capacity')).room, 'capacity');
        const { seq } = await witness.timeout(60_000).emitWithAck('broadcast_echo', { seq: 3, sentAtUs: 1 });
        assert.equal(seq, 3);
        assert.equal((await fetch(`http://127.0.0.1:${controlPort}/healthz`)).status, 200);
      }

      // The first attack compiles code, which stays in memory, so memory is read after it.
      await attack(false);
      const before = await heapBytes();
      await attack(true);
      const kept = (await heapBytes()) - before;
      assert.ok(kept < 3 * MB, `keeps ${(kept / MB).toFixed(1)} MB`);
      const metrics = await (await fetch(`http://127.0.0.1:${controlPort}/metrics`)).text();
      const malformed = metrics.split('\n').filter((line) => line.startsWith('capacity_malformed_total'));
      assert.ok(malformed.length > 1 && malformed.length < 20, metrics);
      assert.ok(metrics.length < 20_000);
    });
  });
}
