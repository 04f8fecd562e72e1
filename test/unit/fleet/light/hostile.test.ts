/** What a server may send to end or fill the process: it ends its own connection, with a cause. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  fakeConnection,
  OPEN_PACKET,
  openConnection,
  PING,
  serverFrame,
  TEXT,
  text,
} from '../../../helpers/fake-wire.ts';

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

test('handshakes and answers that cannot be converted', () => {
  const objects = '{"valueOf":1,"toString":1}';
  const cases: [string, Buffer[]][] = [
    ['not_engineio', [text(`0{"sid":"a","pingInterval":${objects},"pingTimeout":1}`)]],
    ['not_engineio', [text(`0{"sid":"${'a'.repeat(10_000)}","pingInterval":1,"pingTimeout":1}`)]],
    ['unreadable_data', [text(OPEN_PACKET), text(`44{"message":${objects}}`)]],
    ['not_socketio', [text(OPEN_PACKET), text(`44{"message":${nested(5000)}}`)]],
    ['message_too_large', [text(OPEN_PACKET), serverFrame(TEXT, '4'.repeat(101))]],
  ];
  for (const [cause, frames] of cases) {
    const { sink, upgrade, feed, wire } = fakeConnection(['/'], {
      maxPayloadBytes: cause === 'message_too_large' ? 100 : 1e6,
    });
    feed(Buffer.concat([upgrade, ...frames]));
    assert.deepEqual(
      sink.reports.map((report) => report.on === 'failed' && report.cause),
      [cause],
    );
    assert.equal(wire.state, 'destroyed');
  }
});

test('data that is nested too deeply for anybody to copy', () => {
  const { connection, sink, feed } = openConnection();
  connection.interest = new Set(['wanted']);
  feed(text(`42["wanted",${nested(100_000)}]`));
  assert.deepEqual(sink.reports, [{ on: 'closed', reason: 'parse error', namespace: undefined }]);
});

test('a message over the limit, at once or in fragments', () => {
  const head = Buffer.from([0x82, 127, 0, 0, 0, 0, 0x06, 0, 0, 0]);
  const fragments = [serverFrame(TEXT, 'x'.repeat(60), false), serverFrame(0, 'x'.repeat(60), false)];
  for (const frames of [[head], fragments, [text('x'.repeat(101))]]) {
    const { sink, feed } = openConnection({ maxPayloadBytes: 100 });
    for (const frame of frames) feed(frame);
    assert.deepEqual(sink.reports, [{ on: 'closed', reason: 'message too large', namespace: undefined }]);
  }
});

test('pings without end by a server that reads no answer', () => {
  for (const ping of [text('2'), serverFrame(PING, 'x')]) {
    const fake = openConnection();
    fake.wire.unsentBytes = 1;
    for (let count = 0; count < 5000; count++) fake.feed(ping);
    assert.equal(fake.sink.all('closed')[0]?.reason, 'transport error');
    assert.ok(fake.sent.length < 1100);
  }
  const honest = openConnection();
  for (let count = 0; count < 5000; count++) honest.feed(text('2'));
  assert.equal(honest.sink.reports.length, 0);
});
