import assert from 'node:assert/strict';
import type { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { Socket } from 'socket.io';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import type { BroadcastMessage, BroadcastSent } from '../../../protocol/wire/events.ts';
import { createServerApp } from '../../../server/app.ts';
import { parseServerConfig } from '../../../server/config.ts';
import { ask, connectClient, connectControl, onceOf, startApp, TOKEN } from '../../helpers/app.ts';
import { rawWebSocket } from '../../helpers/raw-websocket.ts';
import { freePort } from '../../helpers/redis.ts';

test('join_room takes a room or {clientKey}, and returns the number of members', async (t) => {
  const app = await startApp(t, { CAPACITY_WORKER: 'w3' });
  const [first, second] = await Promise.all([connectClient(app.url), connectClient(app.url)]);
  assert.deepEqual(await first.emitWithAck('join_room', 'blue'), { room: 'blue', worker: 'w3', members: 1 });
  assert.deepEqual(await second.emitWithAck('join_room', { clientKey: 'blue' }), {
    room: 'blue',
    worker: 'w3',
    members: 2,
  });
});

test('the server refuses and counts messages that violate the contract, without affecting other clients', async (t) => {
  const app = await startApp(t);
  const client = await connectClient(app.url);
  for (const bad of [undefined, null, 7, '', 'x'.repeat(257), {}, { clientKey: 7 }, ['room'], true]) {
    const answer = await client.emitWithAck('join_room', ...(bad === undefined ? [] : [bad]));
    assert.match(answer.error, /expected a room/, JSON.stringify(bad));
  }
  client.emit('join_room', { without: 'an acknowledgement' });
  for (const bad of [null, {}, { seq: 1 }, { seq: '1', sentAtUs: 1 }, { seq: 1, sentAtUs: 2 ** 60 }]) {
    assert.equal(typeof (await client.emitWithAck('broadcast_echo', bad)).error, 'string', JSON.stringify(bad));
  }
  assert.equal((await client.emitWithAck('join_room', 'still here')).members, 1);
  const metrics = await (await fetch(`${app.controlUrl}/metrics`)).text();
  assert.match(metrics, /capacity_malformed_total\{event="join_room",worker="w0"\} 10/);
  assert.match(metrics, /capacity_malformed_total\{event="broadcast_echo",worker="w0"\} 5/);
});

test('a broadcast echo from another host whose clock is ahead is timed like any other', async (t) => {
  const app = await startApp(t);
  const client = await connectClient(app.url);
  t.after(() => client.disconnect());
  const { roundTripUs } = await client.emitWithAck('broadcast_echo', { seq: 1, sentAtUs: monotonicUs() + 60e6 });
  assert.ok(roundTripUs < -59e6 && roundTripUs > -60e6);
});

test('a broadcast reaches only the room, with seq and sentAtUs first in the JSON', async (t) => {
  const app = await startApp(t);
  const control = await connectControl(app.controlPort);
  const [member, outsider] = await Promise.all([connectClient(app.url), connectClient(app.url)]);
  await member.emitWithAck('join_room', 'blue');
  let strayCopies = 0;
  outsider.on('broadcast', () => strayCopies++);
  const raw: string[] = [];
  member.io.engine.on('packet', ({ data }: { data?: string }) => raw.push(String(data)));

  const received = onceOf(member, 'broadcast');
  const beforeUs = monotonicUs();
  const sent = await ask<BroadcastSent>(control, 'broadcast', { room: 'blue', bytes: 1000, seq: 4 });
  const [message] = (await received) as [BroadcastMessage];
  assert.deepEqual(Object.keys(message), ['seq', 'sentAtUs', 'worker', 'data']);
  assert.ok(raw.some((packet) => packet.startsWith('2["broadcast",{"seq":4,"sentAtUs":')));
  assert.equal(message.data.length, 1000);
  assert.deepEqual(sent, { seq: 4, sentAtUs: message.sentAtUs, worker: 'w0', expected: 1, otherWorkers: 0 });
  assert.ok(message.sentAtUs >= beforeUs && message.sentAtUs <= monotonicUs());

  const timed = await member.emitWithAck('broadcast_echo', message);
  assert.equal(timed.seq, 4);
  assert.ok(timed.roundTripUs > 0 && timed.roundTripUs <= monotonicUs() - message.sentAtUs);
  await outsider.emitWithAck('join_room', 'answered after anything sent before');
  assert.equal(strayCopies, 0);
});

test('each tuning of the server can be switched on and off', async (t) => {
  const tuned = await startApp(t);
  const plain = await startApp(t, {
    CAPACITY_DROP_REQUEST: 'off',
    CAPACITY_DROP_HANDSHAKE: 'off',
    CAPACITY_DROP_LISTENERS: 'off',
    CAPACITY_SHARE_PING_TIMER: 'off',
    CAPACITY_PER_MESSAGE_DEFLATE: 'on',
    CAPACITY_HTTP_COMPRESSION: 'on',
  });
  for (const [app, isPlain] of [
    [tuned, false],
    [plain, true],
  ] as const) {
    const connected = onceOf(app.io, 'connection');
    const client = await connectClient(app.url);
    const [socket] = (await connected) as [Socket];
    const raw = await rawWebSocket(app.port);
    raw.socket.destroy();
    const { transport } = socket.conn as unknown as { transport: EventEmitter & { socket: EventEmitter } };
    const observed = {
      request: socket.conn.request !== null,
      handshake: socket.handshake !== undefined,
      headersListeners: transport.listenerCount('headers'),
      errorListeners: transport.socket.listenerCount('error'),
      ownPingTimer: (socket.conn as unknown as { pingIntervalTimer: unknown }).pingIntervalTimer !== null,
      deflate: /permessage-deflate/.test(raw.head),
      compression: app.io.engine.opts.httpCompression !== false,
    };
    const all = {
      request: isPlain,
      handshake: isPlain,
      headersListeners: isPlain ? 1 : 0,
      errorListeners: isPlain ? 2 : 1,
    };
    assert.deepEqual(observed, { ...all, ownPingTimer: isPlain, deflate: isPlain, compression: isPlain });
    client.disconnect();
  }
});

test('reports a port in use with a clear error, and leaves nothing open', async (t) => {
  const first = await startApp(t);
  const controlPort = await freePort();
  const config = parseServerConfig({
    CAPACITY_TOKEN: TOKEN,
    CAPACITY_PORT: `${first.port}`,
    CAPACITY_CONTROL_PORT: `${controlPort}`,
    CAPACITY_LOG_LEVEL: 'silent',
  });
  await assert.rejects((await createServerApp(config)).start(), {
    code: 'PORT_UNAVAILABLE',
    message: new RegExp(`:${first.port} `),
  });
  await assert.rejects(fetch(`http://127.0.0.1:${controlPort}/healthz`));
});
