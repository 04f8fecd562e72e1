import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { after, test } from 'node:test';
import { Server } from 'socket.io';
import { grantsCompression } from '../../../plugin/run/receivers/compression-offer.ts';
import { listen } from '../../helpers/raw-listen.ts';
import { clientOptions } from '../../helpers/recording-sink.ts';

const servers: Server[] = [];
after(() => Promise.all(servers.map((io) => io.close())));

async function socketIo(options: object): Promise<{ io: Server; url: string }> {
  const http = createServer();
  const io = new Server(http, options);
  servers.push(io);
  return { io, url: `http://127.0.0.1:${await listen(http)}` };
}

const ask = (url: string, signal = new AbortController().signal) =>
  grantsCompression({ ...clientOptions({ url, transports: ['polling', 'websocket'] }), namespace: '/' }, signal);

test('a server that grants compression, and one that does not; neither has a connection afterwards', async () => {
  for (const perMessageDeflate of [true, false]) {
    const { io, url } = await socketIo({ perMessageDeflate });
    io.use((_socket, next) => next(new Error('nobody may come in')));
    const closed = new Promise((resolve) => io.engine.on('connection', (session) => session.on('close', resolve)));
    assert.equal(await ask(url), perMessageDeflate);
    await closed;
    assert.equal(io.engine.clientsCount, 0);
  }
});

test('a server without WebSocket, one that says nothing, and a run that is over tell nothing', async () => {
  const { url } = await socketIo({ transports: ['polling'], perMessageDeflate: true });
  assert.equal(await ask(url), null);
  const mute = `http://127.0.0.1:${await listen(createTcpServer())}`;
  assert.equal(await ask(mute, AbortSignal.timeout(50)), null);
  assert.equal(await ask(mute, AbortSignal.abort()), null);
});
