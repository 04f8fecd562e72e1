/** Tests that both clients work with servers whose parser is not Socket.IO's default. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { suite, test } from 'node:test';
import type { Server } from 'socket.io';
import { loadParser } from '../../../plugin/fleet/client/parser.ts';
import type { ClientKind } from '../../../protocol/wire/connection.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { fleetSettings, startFleet } from '../../helpers/fleet.ts';

const require = createRequire(import.meta.url);
const files = [require.resolve('socket.io-msgpack-parser'), require.resolve('../../fixtures/lines-parser.cjs')];

function answers(io: Server): void {
  io.of('/chat').on('connection', (socket) => {
    socket.on('ask', (question, answer) => {
      answer({ to: question, auth: socket.handshake.auth });
      socket.emit('echo', question, (reply: unknown) => socket.emit('reply', reply));
      socket.emit('broadcast', { seq: 1, sentAtUs: 5, worker: 'w0', data: 'x' });
    });
  });
}

for (const file of files) {
  suite(file.split('/').at(-1) === 'index.js' ? 'socket.io-msgpack-parser' : 'a custom parser', () => {
    for (const client of ['light', 'official'] satisfies ClientKind[]) {
      test(`the ${client} client connects, sends and receives with a custom parser`, async (t) => {
        const server = await startChat(t, answers, { parser: loadParser(file) });
        const changes = { parser: file, auth: { token: 't' }, acknowledge: ['yes'] };
        const fleet = await startFleet(t, fleetSettings(server.url, client, changes));
        const connection = fleet.connection();
        const event = (name: string) =>
          new Promise<unknown[]>((resolve) => connection.listen('/chat', name, resolve)('take'));
        const [echo, reply] = [event('echo'), event('reply')];
        await connection.open('/chat');
        const question = { deep: [1, null, 'grüße'] };
        const answer = await connection.emitWithAck('/chat', 'ask', [question], 5000);
        assert.deepEqual(answer, [{ to: question, auth: { token: 't' } }]);
        assert.deepEqual(await echo, [question]);
        assert.deepEqual(await reply, ['yes']);
        assert.equal((await fleet.snapshot()).receipts.received, 1);
        await assert.rejects(fleet.connection().open('/nowhere'), { code: 'namespace_refused' });
      });
    }
  });
}

test('refuses a parser module without a parser, with its name', () => {
  assert.throws(() => loadParser(require.resolve('socket.io')), /socket\.io.* is not a parser/);
});
