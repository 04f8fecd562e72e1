/** What the run's own connections find out before the load: whether they can poll, and whether the server compresses. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { grantsCompression } from '../../../plugin/run/receivers/compression-offer.ts';
import { connectOfficial } from '../../../plugin/run/receivers/official-client.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { connectionTo } from '../../helpers/connection.ts';
import { OPEN_PACKET } from '../../helpers/fake-wire.ts';
import { rawServer, urlOf } from '../../helpers/raw-listen.ts';
import { clientOptions } from '../../helpers/recording-sink.ts';

const never = new AbortController().signal;
const ask = (url: string, signal = never) =>
  grantsCompression(
    { connection: { ...clientOptions({ url, transports: ['polling', 'websocket'] }), namespace: '/' } },
    signal,
  );
const poll = (url: string) => connectOfficial({ ...connectionTo(url), transports: ['polling'] }, never);

test('a server that grants compression, and one that does not; neither has a connection afterwards', async (t) => {
  for (const perMessageDeflate of [true, false]) {
    const { io, url } = await startChat(t, () => {}, { perMessageDeflate });
    const closed = new Promise((resolve) => io.engine.on('connection', (session) => session.on('close', resolve)));
    assert.equal(await ask(url), perMessageDeflate);
    await closed;
    assert.equal(io.engine.clientsCount, 0);
  }
});

test('a server without WebSocket, one that says nothing, and a run that is over tell nothing', async (t) => {
  const { url } = await startChat(t, () => {}, { transports: ['polling'], perMessageDeflate: true });
  assert.equal(await ask(url), null);
  const mute = await rawServer(t);
  assert.equal(await ask(mute, AbortSignal.timeout(50)), null);
  assert.equal(await ask(mute, AbortSignal.abort()), null);
});

for (const answer of ['{"code":1,"message":"Session ID unknown"}', '"Invalid session a"']) {
  test(`a worker that does not know the session, and answers ${answer}`, async (t) => {
    const http = createServer((request, response) => {
      const opens = !request.url?.includes('sid=');
      response.writeHead(opens ? 200 : 400).end(opens ? OPEN_PACKET : answer);
    });
    await assert.rejects(poll(await urlOf(t, http)), ({ code, message, fix }) => {
      assert.equal(code, 'TARGET_UNREACHABLE');
      assert.ok(message.includes(answer), message);
      assert.match(fix, /sticky sessions/);
      return true;
    });
  });
}

test('nothing listens where a client wants to poll', async () => {
  await assert.rejects(poll('http://127.0.0.1:1'), { code: 'TARGET_UNREACHABLE', message: /ECONNREFUSED/ });
});
