import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import type { BroadcastCopy } from '../../../../plugin/fleet/client/client.ts';
import { BINARY, openConnection, serverFrame, text } from '../../../helpers/fake-wire.ts';

const PLACEHOLDER = { _placeholder: true, num: 0 };
const head = (seq: number, more: unknown[] = [], id = '') =>
  text(`451-${id}${JSON.stringify(['broadcast', { seq, sentAtUs: 7, worker: 'w3', data: PLACEHOLDER }, ...more])}`);
const PAYLOAD = Buffer.from([0, 255, 10, 13]);
const attachment = (payload = PAYLOAD) => serverFrame(BINARY, payload);

/** A connection that notes of each copy what the ledger asks. */
function noting(options: Parameters<typeof openConnection>[0] = {}) {
  const fake = openConnection(options);
  const copies: unknown[] = [];
  fake.sink.onBroadcast = (...[, seq, sentAtUs, worker, , copy]: unknown[]) => {
    const { hasSize, checksum } = copy as BroadcastCopy;
    copies.push([seq, sentAtUs, worker, hasSize.call(copy, 4), checksum.call(copy)]);
  };
  return { ...fake, copies };
}

test('a broadcast whose payload is an attachment: one copy, once both have arrived', () => {
  const { feed, copies } = noting();
  feed(head(1));
  assert.deepEqual(copies, []);
  const bytes = attachment();
  feed(bytes.subarray(0, 3));
  feed(Buffer.concat([bytes.subarray(3), head(2), attachment(Buffer.from('other'))]));
  assert.deepEqual(copies, [
    [1, 7, 'w3', true, crc32(PAYLOAD)],
    [2, 7, 'w3', false, crc32('other')],
  ]);
});

test('read in place and decoded, it is the same', () => {
  const ways = [head(1), head(1, ['offset']), head(1, [], '/,'), head(1, [], '12'), text(escaped(1))].map((packet) => {
    const { feed, copies } = noting();
    feed(Buffer.concat([packet, attachment()]));
    return copies;
  });
  for (const copies of ways) assert.deepEqual(copies, ways[0]);
  assert.equal(ways[0]?.length, 1);
});

function escaped(seq: number): string {
  const data = JSON.stringify({ seq, sentAtUs: 7, worker: 'w3', data: PLACEHOLDER });
  return `451-["broadcas\\u0074",${data}]`;
}

test('two connections in turns, each between its head and its attachment', () => {
  const [one, other] = [noting(), noting()];
  one.feed(head(1));
  other.feed(head(2));
  one.feed(attachment());
  other.feed(attachment());
  assert.deepEqual(
    [one.copies, other.copies].map((copies) => copies.map((copy) => (copy as number[])[0])),
    [[1], [2]],
  );
});

test('a step that waits for the broadcast gets its payload', () => {
  const { connection, sink, feed } = openConnection();
  connection.interest = new Set(['broadcast']);
  feed(Buffer.concat([head(1), attachment()]));
  const [event] = sink.all('event');
  assert.deepEqual(event?.args, [{ seq: 1, sentAtUs: 7, worker: 'w3', data: PAYLOAD }]);
  assert.equal(sink.all('broadcast').length, 1);
});

test('text where the attachment should be ends the connection', () => {
  const { sink, feed, copies } = noting();
  feed(Buffer.concat([head(1), head(2)]));
  assert.equal(sink.all('closed')[0]?.reason, 'parse error');
  assert.deepEqual(copies, []);
});
