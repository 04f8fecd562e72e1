import { test } from 'node:test';
import { assertEach } from '../../../helpers/columns.ts';
import { BINARY, fakeConnection, OPEN_PACKET, serverFrame, text } from '../../../helpers/fake-wire.ts';
import { jsonCodec } from '../../../helpers/json-codec.ts';

for (const [what, frame] of [
  ['text', text('42["broadcast",{"seq":1,"sentAtUs":1,"worker":"w"}]')],
  ['a packet that the codec cannot decode', serverFrame(BINARY, '{broken')],
] as const) {
  test(`a frame for a custom parser closes the connection if it is ${what}`, () => {
    const { sink, upgrade, feed } = fakeConnection(['/'], {}, { codec: jsonCodec });
    const accepted = jsonCodec.encode({ type: 0, nsp: '/', data: { sid: 's' } })[0] as Uint8Array;
    feed(Buffer.concat([upgrade, text(OPEN_PACKET), serverFrame(BINARY, accepted), frame]));
    assertEach(sink.reports, (report) => (report.on === 'closed' ? report.reason : report.on), ['open', 'parse error']);
  });
}
