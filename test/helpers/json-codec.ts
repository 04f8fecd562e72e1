/** A custom parser. Each packet is a single binary message with JSON. */
import type { Packet, PacketCodec } from '../../plugin/fleet/light/socket-io/codec.ts';

export const jsonCodec: PacketCodec = {
  hasPlainEvents: false,
  encode: ({ type, nsp, data, id }) => [Buffer.from(JSON.stringify({ type, nsp, data, id }))],
  decoderFor: () => decoder,
};

const decoder = {
  add(message: string | Buffer): Packet {
    if (typeof message === 'string') throw new Error('a text message');
    return JSON.parse(String(message));
  },
};
