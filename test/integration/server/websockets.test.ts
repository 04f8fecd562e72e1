/**
 * Tests the common behaviour of all WebSocket servers in the table. A server whose package is not installed for this
 * version of Node is skipped. `CAPACITY_MODULES` is a folder with the packages.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import type { Socket } from 'socket.io-client';
import type { CapacityError } from '../../../protocol/codes/errors.ts';
import type { BroadcastSent, WorkerStats } from '../../../protocol/wire/events.ts';
import { tuningEntries as tunings } from '../../../server/tunings.ts';
import { WEBSOCKETS } from '../../../server/websockets/index.ts';
import { ask, connectClient, connectControl, onceOf, startApp } from '../../helpers/app.ts';
import { eventually } from '../../helpers/poll.ts';
import { rawWebSocket } from '../../helpers/raw-websocket.ts';

/** Time limit below the time for which a WebSocket server itself waits for a client's close frame. */
const CLOSE_LIMIT = { timeout: 25_000 };
const TRANSPORTS = [['websocket'], ['polling'], ['polling', 'websocket']];

const { CAPACITY_MODULES = '' } = process.env;

for (const [name, attach] of Object.entries(WEBSOCKETS)) {
  const missing = await attach({}, CAPACITY_MODULES || undefined).then(
    ({ close }) => close(),
    ({ message }: CapacityError) => message,
  );
  describe(name, { skip: missing ?? false }, () => {
    const start = (t: TestContext, environment: Record<string, string> = {}) =>
      startApp(t, { CAPACITY_WEBSOCKETS: name, CAPACITY_MODULES, ...environment });

    async function setUp(t: TestContext, environment?: Record<string, string>) {
      const app = await start(t, environment);
      return { app, control: await connectControl(app.controlPort) };
    }

    /** Resolves when the client uses the last of these transports. */
    async function connectOver(url: string, transports: string[]): Promise<Socket> {
      const client = await connectClient(url, { transports });
      const { engine } = client.io;
      if (engine.transport.name !== transports.at(-1)) await onceOf(engine, 'upgrade');
      return client;
    }

    for (const position of ['default', 'on', 'off']) {
      it(`the server delivers a broadcast over every transport, with tunings ${position}: ${name}`, async (t) => {
        const switches = position === 'default' ? [] : tunings().map(([, { variable }]) => [variable, position]);
        const { app, control } = await setUp(t, Object.fromEntries(switches));
        const clients = await Promise.all(TRANSPORTS.map((transports) => connectOver(app.url, transports)));
        await Promise.all(clients.map((client) => client.emitWithAck('join_room', 'blue')));
        const received = Promise.all(clients.map((client) => onceOf(client, 'broadcast')));
        const sent = await ask<BroadcastSent>(control, 'broadcast', { room: 'blue', bytes: 5000, seq: 1 });
        assert.equal(sent.expected, clients.length);
        await received;
        for (const client of clients) client.disconnect();
      });
    }

    it(`the server grants compression only where it is switched on: ${name}`, async (t) => {
      for (const position of ['on', 'off']) {
        const { app, control } = await setUp(t, { CAPACITY_PER_MESSAGE_DEFLATE: position });
        const { socket, head } = await rawWebSocket(app.port);
        socket.destroy();
        assert.equal(/^sec-websocket-extensions: permessage-deflate/im.test(head), position === 'on');
        const { server, versions } = await ask<WorkerStats>(control, 'stats');
        assert.match(versions.webSocketEngine, new RegExp(`^${name} .*\\d+\\.\\d+`));
        assert.equal(server.tunings.perMessageDeflate, position);
      }
    });

    it(`the server creates session ids that contain the worker, also after the upgrade: ${name}`, async (t) => {
      const { app } = await setUp(t, { CAPACITY_WORKER: 'w7' });
      for (const transports of TRANSPORTS) {
        const client = await connectOver(app.url, transports);
        const { id } = client.io.engine as unknown as { id: string };
        assert.match(id, /^w7-/);
        assert.equal((await client.emitWithAck('join_room', transports.join())).worker, 'w7');
        client.disconnect();
      }
    });

    it(`the server reports a port in use: ${name}`, async (t) => {
      const { app } = await setUp(t);
      await assert.rejects(start(t, { CAPACITY_PORT: `${app.port}` }), /:\d+ is in use|cannot listen on/);
    });

    it(`the server notifies all clients, including polling ones, before it closes: ${name}`, CLOSE_LIMIT, async (t) => {
      const app = await start(t, { CAPACITY_DRAIN_MS: '60000' });
      const clients = await Promise.all(TRANSPORTS.map((transports) => connectOver(app.url, transports)));
      const left = Promise.all(clients.map((client) => onceOf(client, 'disconnect')));
      await app.close();
      for (const [reason] of await left) assert.match(String(reason), /transport (close|error)/);
    });

    it(
      `a closing server drops silent clients and endless requests at the time limit: ${name}`,
      CLOSE_LIMIT,
      async (t) => {
        const app = await start(t, { CAPACITY_DRAIN_MS: '100' });
        const { socket } = await rawWebSocket(app.port);
        const unfinished = connect(app.port, '127.0.0.1').on('error', () => {});
        unfinished.write('POST /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: x\r\n');
        // Makes another request. The server reads the unfinished request before it.
        await fetch(app.url);
        const ended = Promise.all([once(socket, 'close'), once(unfinished, 'close')]);
        await app.close();
        await ended;
      },
    );

    it(`the server leaves nothing open when closed, also when closed twice: ${name}`, async (t) => {
      await eventually('the sockets of earlier tests are closed', hasNothingOpen);
      const app = await start(t);
      const client = await connectClient(app.url);
      const left = onceOf(client, 'disconnect');
      await Promise.all([app.close(), app.close()]);
      await left;
      await app.close();
      await eventually('sockets and timers are closed', hasNothingOpen);
      const secondApp = await start(t, { CAPACITY_PORT: `${app.port}`, CAPACITY_CONTROL_PORT: `${app.controlPort}` });
      await secondApp.close();
    });
  });
}

function hasNothingOpen(): boolean {
  return !process.getActiveResourcesInfo().some((name) => /^TCP|^Timeout$/.test(name));
}
