/** Tests the request of a light connection to restore its session. It must be equal to that of socket.io-client. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SocketIoConnection } from '../../../../plugin/fleet/light/socket-io/socket-io.ts';
import { clientFrames, fakeConnection, OPEN_PACKET, text } from '../../../helpers/fake-wire.ts';

/** Returns a connection that has sent its CONNECT packets, with the sessions of the connection `before`. */
function connected(namespaces: string[], before?: SocketIoConnection, keepsSessions = true) {
  const options = { keepsSessions, auth: { token: 1 } };
  const fake = fakeConnection(namespaces, options, before && { sessions: before.sessions });
  const feed = (...frames: Buffer[]) => fake.feed(Buffer.concat(frames));
  feed(fake.upgrade, text(OPEN_PACKET));
  const connects = clientFrames(fake.sent.slice(1)).map(({ payload }) => payload);
  return { connection: fake.connection, feed, connects };
}

test('a reconnect requests its session with the private id and the last offset before its own payload', () => {
  const first = connected(['/']);
  assert.deepEqual(first.connects, ['40{"token":1}']);
  first.feed(text('40{"sid":"s","pid":"p1"}'));
  assert.deepEqual(connected(['/'], first.connection).connects, ['40{"pid":"p1","token":1}'], 'no event, no offset');
  const broadcast = '["broadcast",{"seq":1,"sentAtUs":2,"worker":"w0","data":"x"},"off-1"]';
  const events: [string, string][] = [
    [`42${broadcast}`, 'off-1'],
    ['42["ignored",{"a":["b"]},"off-2"]', 'off-2'],
    ['42["no offset",{"a":"b"}]', 'off-2'],
    ['42["nor here",["b"]]', 'off-2'],
    ['427["asks for an answer","off-3"]', 'off-2'],
    ['42["escaped","\\"off\\u002d4"]', '"off-4'],
    ['42["spaced", "off-5" ]', 'off-5'],
    [`42["long","${'o'.repeat(100)}"]`, 'o'.repeat(100)],
    ['42["name alone is the last"]', 'name alone is the last'],
  ];
  for (const [packet, offset] of events) {
    first.feed(text(packet));
    const expected = JSON.stringify({ pid: 'p1', offset, token: 1 });
    assert.deepEqual(connected(['/'], first.connection).connects, [`40${expected}`], packet);
  }
});

test('session recovery keeps a session for each namespace, and none if the server offers none', () => {
  const first = connected(['/', '/chat', '/plain']);
  first.feed(text('40{"sid":"s","pid":"p"}'), text('40/chat,{"sid":"s","pid":"q"}'), text('40/plain,{"sid":"s"}'));
  first.feed(text('42/chat,["news","in chat"]'), text('42/plain,["news","in plain"]'), text('42["news","in main"]'));
  assert.deepEqual(connected(['/', '/chat', '/plain'], first.connection).connects, [
    '40{"pid":"p","offset":"in main","token":1}',
    '40/chat,{"pid":"q","offset":"in chat","token":1}',
    '40/plain,{"token":1}',
  ]);
});

test('after a failed recovery, the new session starts with the old offset', () => {
  const first = connected(['/']);
  first.feed(text('40{"sid":"s","pid":"p"}'), text('42["news","before"]'));
  const second = connected(['/'], first.connection);
  second.feed(text('40{"sid":"s","pid":"other"}'));
  assert.deepEqual(connected(['/'], second.connection).connects, ['40{"pid":"other","offset":"before","token":1}']);
  const third = connected(['/'], second.connection);
  third.feed(text('40{"sid":"s"}'));
  assert.deepEqual(connected(['/'], third.connection).connects, ['40{"token":1}']);
});

test('the client keeps no session for recovery if it will not reconnect', () => {
  const { connection, feed } = connected(['/'], undefined, false);
  feed(text('40{"sid":"s","pid":"p"}'), text('42["news","offset"]'));
  assert.deepEqual(connection.sessions, []);
});
