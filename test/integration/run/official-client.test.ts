/** Tests the run's own clients with faulty servers, and their findings before the load. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { WebSocketServer } from 'ws';
import { grantsCompression } from '../../../plugin/run/receivers/compression-offer.ts';
import { ControlClients } from '../../../plugin/samplers/index.ts';
import { TOKEN } from '../../helpers/app.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { connectionTo } from '../../helpers/connection.ts';
import { OPEN_PACKET } from '../../helpers/fake-wire.ts';
import { connectBare } from '../../helpers/own-clients.ts';
import { rawServer, urlOf } from '../../helpers/raw-listen.ts';
import { clientOptions } from '../../helpers/recording-sink.ts';

const OPEN = '0{"sid":"a","upgrades":[],"pingInterval":25000,"pingTimeout":20000}';
const CONNECTED = '40{"sid":"s"}';
const deep = '['.repeat(20_000) + ']'.repeat(20_000);

/** Sends all packets to each WebSocket, and in response to each poll. */
async function startServer(t: TestContext, packets: string[]): Promise<string> {
  const http = createServer((_request, response) => response.end(packets.join('\x1e')));
  const sockets = new WebSocketServer({ server: http });
  sockets.on('connection', (socket) => {
    for (const packet of packets) socket.send(packet);
  });
  return urlOf(t, http);
}

const INVALID_HANDSHAKES = [
  ...['0text', '0', '0null', '05', '0{}', '0{"sid":{},"upgrades":[],"pingInterval":1,"pingTimeout":1}'],
  ...['null', '{"length":1e9}', '[1]'].map((upgrades) => OPEN.replace('[]', upgrades)),
];

test('the official client counts an invalid handshake as no connection', { timeout: 20_000 }, async (t) => {
  for (const handshake of INVALID_HANDSHAKES) {
    const url = await startServer(t, [handshake]);
    for (const transport of ['websocket', 'polling'] as const) {
      const connecting = connectBare({ ...connectionTo(url), transports: [transport] }, t.signal);
      await assert.rejects(connecting, { code: 'TARGET_UNREACHABLE' }, `${transport}: ${handshake}`);
    }
    assert.equal(await grantsCompression({ connection: connectionTo(url) }, t.signal), null, handshake);
    await assert.rejects(ControlClients.connect([url], TOKEN), { code: 'SOURCE_UNREACHABLE' }, handshake);
  }
});

test('a reply that is too large closes the connection of the official client', { timeout: 20_000 }, async (t) => {
  const reply = `43/capacity,0[{"ok":true,"value":{"worker":"${'x'.repeat(9_000_000)}"}}]`;
  const url = await startServer(t, [OPEN, '40/capacity,{"sid":"s"}', reply]);
  const control = await ControlClients.connect([url], TOKEN);
  t.after(() => control.close());
  await assert.rejects(control.stats(), { code: 'SOURCE_UNREACHABLE' });
});

test('the official client reports a refusal message that is nested too deep to copy between threads', {
  timeout: 20_000,
}, async (t) => {
  const url = await startServer(t, [OPEN, `44{"message":"no","data":${deep}}`]);
  await assert.rejects(connectBare(connectionTo(url), t.signal), { code: 'TARGET_UNREACHABLE', message: /deep/ });
});

test('the official client closes its connection on an event that cannot be copied between threads', {
  timeout: 20_000,
}, async (t) => {
  const url = await startServer(t, [OPEN, CONNECTED, `42["chat",${deep}]`]);
  const events: string[] = [];
  const socket = await connectBare(connectionTo(url), t.signal, { onAny: (event) => void events.push(event) });
  await socket.ended;
  assert.deepEqual([events, socket.connected], [[], false]);
});

const NEVER = new AbortController().signal;
const ask = (url: string, signal = NEVER) =>
  grantsCompression(
    { connection: { ...clientOptions({ url, transports: ['polling', 'websocket'] }), namespace: '/' } },
    signal,
  );
const poll = (url: string) => connectBare({ ...connectionTo(url), transports: ['polling'] }, NEVER);

test('the run reads whether a server grants compression, and closes that connection afterwards', async (t) => {
  for (const perMessageDeflate of [true, false]) {
    const { io, url } = await startChat(t, () => {}, { perMessageDeflate });
    const closed = new Promise((resolve) => io.engine.on('connection', (session) => session.on('close', resolve)));
    assert.equal(await ask(url), perMessageDeflate);
    await closed;
    assert.equal(io.engine.clientsCount, 0);
  }
});

test('compression is unknown for a server without WebSocket, for a silent server, and in a stopped run', async (t) => {
  const { url } = await startChat(t, () => {}, { transports: ['polling'], perMessageDeflate: true });
  assert.equal(await ask(url), null);
  const silentServer = await rawServer(t);
  assert.equal(await ask(silentServer, AbortSignal.timeout(50)), null);
  assert.equal(await ask(silentServer, AbortSignal.abort()), null);
});

for (const [answer, quoted] of [
  ['{"code":1,"message":"Session ID unknown"}', 'Session ID unknown'],
  ['"Invalid session a"', 'Invalid session a'],
] as const) {
  test(`reports a worker that does not know the session, with its answer: ${answer}`, async (t) => {
    const http = createServer((request, response) => {
      const opens = !request.url?.includes('sid=');
      response.writeHead(opens ? 200 : 400).end(opens ? OPEN_PACKET : answer);
    });
    await assert.rejects(poll(await urlOf(t, http)), ({ code, message, fix }) => {
      assert.equal(code, 'TARGET_UNREACHABLE');
      assert.ok(message.includes(quoted), message);
      assert.match(fix, /sticky sessions/);
      return true;
    });
  });
}

test('a polling client reports a port without a server', async () => {
  await assert.rejects(poll('http://127.0.0.1:1'), { code: 'TARGET_UNREACHABLE', message: /ECONNREFUSED/ });
});
