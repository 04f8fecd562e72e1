/** Servers with another parser than Socket.IO's default: both clients speak it. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { suite, test } from 'node:test';
import { Server } from 'socket.io';
import { loadParser } from '../../../plugin/fleet/client/parser.ts';
import { Fleet } from '../../../plugin/fleet/fleet.ts';
import type { ClientKind } from '../../../protocol/connection.ts';
import { fleetSettings } from '../../helpers/fleet.ts';
import { listen } from '../../helpers/listen.ts';

const require = createRequire(import.meta.url);
const files = [require.resolve('socket.io-msgpack-parser'), require.resolve('../../fixtures/lines-parser.cjs')];

async function startServer(parser: string) {
  const { http, url, close } = await listen();
  const io = new Server(http, { parser: loadParser(parser) });
  io.of('/chat').on('connection', (socket) => {
    socket.on('ask', (question, answer) => {
      answer({ to: question, auth: socket.handshake.auth });
      socket.emit('told', question, (given: unknown) => socket.emit('given', given));
      socket.emit('broadcast', { seq: 1, sentAtUs: 5, worker: 'w0', data: 'x' });
    });
  });
  return { url, close: () => io.close().then(close) };
}

for (const file of files) {
  suite(file.split('/').at(-1) === 'index.js' ? 'socket.io-msgpack-parser' : 'a parser of our own', () => {
    for (const client of ['light', 'official'] satisfies ClientKind[]) {
      test(`the ${client} client connects, asks, listens, answers and counts broadcasts`, async (t) => {
        const server = await startServer(file);
        t.after(server.close);
        const settings = fleetSettings(server.url, client);
        const defaults = { ...settings.defaults, parser: file, auth: { token: 't' }, acknowledge: ['yes'] };
        const fleet = await Fleet.start({ ...settings, defaults }, 1);
        t.after(() => fleet.close());
        const connection = fleet.connection();
        const event = (name: string) => new Promise<unknown[]>((resolve) => void connection.on('/chat', name, resolve));
        const [told, given] = [event('told'), event('given')];
        await connection.open('/chat');
        const question = { deep: [1, null, 'grüße'] };
        const answer = await connection.emitWithAck('/chat', 'ask', [question], 5000);
        assert.deepEqual(answer, [{ to: question, auth: { token: 't' } }]);
        assert.deepEqual(await told, [question]);
        assert.deepEqual(await given, ['yes']);
        assert.equal((await fleet.snapshot()).receipts.received, 1);
        await assert.rejects(fleet.connection().open('/nowhere'), { code: 'namespace_refused' });
      });
    }
  });
}

test('a module that is no parser is refused by name', () => {
  assert.throws(() => loadParser(require.resolve('socket.io')), /socket\.io.* is not a parser/);
});
