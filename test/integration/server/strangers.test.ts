/** Whoever has no token cannot take the process that a control port is in, nor keep those out that have it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import { ask, connectControl, startApp } from '../../helpers/app.ts';

const METRICS = 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n';

function open(t: TestContext, port: number) {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  t.after(() => socket.destroy());
  return socket;
}

test('requests in one piece get no more than one answer', { timeout: 20_000 }, async (t) => {
  const socket = open(t, (await startApp(t)).controlPort);
  socket.write(METRICS.repeat(1000));
  const answers = await text(socket).catch(() => '');
  assert.ok(answers.split('HTTP/1.1').length <= 2, `${answers.length} bytes`);
});

test('a WebSocket needs the token, also one that says nothing by it', { timeout: 20_000 }, async (t) => {
  const { controlPort: port } = await startApp(t);
  for (const given of [undefined, 'Bearer', 'Bearer another-token-than', 'Bearer token-of-the-tests-']) {
    const headers = given === undefined ? {} : { authorization: given };
    const ws = new WebSocket(`ws://127.0.0.1:${port}/socket.io/?EIO=4&transport=websocket`, { headers });
    const [error] = await once(ws, 'error');
    assert.match(String(error), /401/);
  }
});

test('many connections that say nothing leave room for the run', { timeout: 20_000 }, async (t) => {
  const { controlPort: port } = await startApp(t);
  const strangers = Array.from({ length: 150 }, () => open(t, port));
  await Promise.all(strangers.map((socket) => once(socket, 'connect')));
  const control = await connectControl(port);
  assert.equal(typeof (await ask<{ monotonicUs: number }>(control, 'time')).monotonicUs, 'number');
});
