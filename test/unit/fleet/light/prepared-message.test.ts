import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIRST_REPEATED_ACK_ID, type RepeatedMessage } from '../../../../plugin/fleet/client/client.ts';
import { encodeMessages } from '../../../../plugin/fleet/light/engine-io/engine-io-handshake.ts';
import { officialCodec, PacketType } from '../../../../plugin/fleet/light/socket-io/codec.ts';
import { PreparedMessage } from '../../../../plugin/fleet/light/socket-io/prepared-message.ts';
import { jsonCodec } from '../../../helpers/json-codec.ts';

const args: unknown[] = [{ text: `${FIRST_REPEATED_ACK_ID}[ grüße` }];
const MESSAGE: RepeatedMessage = { namespace: '/', event: 'batch', args, periodUs: 1, count: 1, acknowledge: true };

for (const [name, codec, changes] of [
  ['to the main namespace', officialCodec, {}],
  ['to another namespace, with an id in its name', officialCodec, { namespace: `/größe${FIRST_REPEATED_ACK_ID}` }],
  ['longer than 70,000 bytes', officialCodec, { args: ['x'.repeat(70_000)] }],
  ['containing binary data', officialCodec, { args: [Buffer.from('b')] }],
  ['in a custom format', jsonCodec, {}],
] as const) {
  test(`a prepared message ${name} has the same bytes as a normally encoded message`, () => {
    const one = { ...MESSAGE, ...(changes as Partial<RepeatedMessage>) };
    const prepared = new PreparedMessage(codec, one);
    const packet = { type: PacketType.EVENT, nsp: one.namespace, data: [one.event, ...one.args] };
    for (const later of [0, 1, 987_654_321]) {
      const id = FIRST_REPEATED_ACK_ID + later;
      assert.deepEqual(prepared.frames(id), encodeMessages(codec.encode({ ...packet, id })));
    }
  });
}

test('a prepared message without an acknowledgement has no id', () => {
  const prepared = new PreparedMessage(officialCodec, { ...MESSAGE, acknowledge: false, args: [1] });
  assert.deepEqual(prepared.frames(undefined).subarray(6).toString(), '42["batch",1]');
});
