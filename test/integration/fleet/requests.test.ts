/** Tests that the light client sends the same requests, bodies and frames as socket.io-client. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  type ClientKindUnderTest,
  lightPollingClient,
  lightUpgradingClient,
  pollingClient,
  startClient,
  upgradingClient,
} from '../../helpers/fleet-clients.ts';
import { RecordedSession } from '../../helpers/recorded-session.ts';

const OPTIONS = {
  path: '/my path/',
  query: { token: 'a b&c', EIO: 'x' },
  headers: { 'X-Id': '7', Cookie: 'session=1' },
  auth: undefined,
};

async function recordPolling(kind: ClientKindUnderTest): Promise<RecordedSession> {
  const server = new RecordedSession(['websocket']);
  server.answerHeaders = { 'Set-Cookie': ['route=a; Path=/', 'gone=1; Max-Age=0'] };
  const { client, sink } = startClient(kind, await server.listen(), OPTIONS);
  client.interest = new Set(['blob']);
  await sink.next('open');
  server.send('2');
  await server.until('posts', 2);
  // Packets are queued while a request is pending. Two of these packets fit into one request.
  for (const letter of 'abcd') client.emit('/', letter, ['x'.repeat(30)]);
  await server.until('posts', 4);
  client.emit('/', 'binary', [Buffer.from([0, 1, 255]), 'ü']);
  await server.until('posts', 5);
  server.send('451-["blob",{"_placeholder":true,"num":0}]', 'bAAH/');
  assert.deepEqual([...((await sink.next('event')).args[0] as Uint8Array)], [0, 1, 255]);
  client.close();
  await server.until('posts', 7);
  server.close();
  return server;
}

async function recordUpgrade(kind: ClientKindUnderTest, compression: boolean): Promise<RecordedSession> {
  const server = new RecordedSession(['websocket']);
  const { client, sink } = startClient(kind, await server.listen(), { ...OPTIONS, compression });
  await sink.next('open');
  await sink.next('upgraded');
  assert.equal(client.transport, 'upgraded');
  await server.until('frames', 2);
  server.send('2');
  client.emit('/', 'late', [Buffer.from('b')]);
  await server.until('frames', 5);
  client.close();
  await server.until('frames', 7);
  server.close();
  return server;
}

suite('requests of both clients', () => {
  test('a server receives the same polling requests from both clients', async () => {
    const [light, official] = [await recordPolling(lightPollingClient), await recordPolling(pollingClient)];
    assert.deepEqual(light.posts, official.posts);
    assert.deepEqual(light.polls, official.polls);
    assert.deepEqual(light.upgrades, []);
    assert.equal(
      light.posts[0]?.target,
      '/my%20path/?token=a%20b%26c&EIO=4&transport=polling&t=<unique>&sid=a%20b%2F1',
    );
    assert.equal(light.posts.at(-1)?.headers.cookie, 'session=1; route=a');
  });

  for (const compression of [false, true]) {
    test(`a server receives the same upgrade from both clients, with compression ${compression ? 'on' : 'off'}`, async () => {
      const light = await recordUpgrade(lightUpgradingClient, compression);
      const official = await recordUpgrade(upgradingClient, compression);
      for (const what of ['posts', 'polls', 'upgrades', 'frames', 'order'] as const) {
        assert.deepEqual(light[what], official[what]);
      }
      assert.deepEqual(light.order, ['GET', 'POST 40', 'upgrade', 'GET', 'GET']);
      const offer = light.upgrades[0]?.headers['sec-websocket-extensions'];
      assert.equal(offer, compression ? 'permessage-deflate; client_max_window_bits' : undefined);
    });
  }
});
