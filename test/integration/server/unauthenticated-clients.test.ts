/**
 * Tests that an unauthenticated client cannot overload a process through its control port, and cannot lock out
 * authenticated clients.
 */
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

test('the control port gives at most one response to pipelined requests', { timeout: 20_000 }, async (t) => {
  const socket = open(t, (await startApp(t)).controlPort);
  socket.write(METRICS.repeat(1000));
  const answers = await text(socket).catch(() => '');
  assert.ok(answers.split('HTTP/1.1').length <= 2, `${answers.length} bytes`);
});

test('a WebSocket to the control port requires a valid token', { timeout: 20_000 }, async (t) => {
  const { controlPort: port } = await startApp(t);
  for (const given of [undefined, 'Bearer', 'Bearer another-token-than', 'Bearer token-of-the-tests-']) {
    const headers = given === undefined ? {} : { authorization: given };
    const ws = new WebSocket(`ws://127.0.0.1:${port}/socket.io/?EIO=4&transport=websocket`, { headers });
    const [error] = await once(ws, 'error');
    assert.match(String(error), /401/);
  }
});

test('many silent connections to the control port leave room for the run', { timeout: 20_000 }, async (t) => {
  const { controlPort: port } = await startApp(t);
  const silentSockets = Array.from({ length: 150 }, () => open(t, port));
  await Promise.all(silentSockets.map((socket) => once(socket, 'connect')));
  const control = await connectControl(port);
  assert.equal(typeof (await ask<{ monotonicUs: number }>(control, 'time')).monotonicUs, 'number');
});
