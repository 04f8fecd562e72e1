/** A parser other than the official one: each packet is one binary message of JSON. For the light client and a server. */
import { EventEmitter } from 'node:events';
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

/** The same as the `parser` option of a Socket.IO server. */
export const jsonParser = {
  protocol: 5,
  Encoder: class {
    encode = jsonCodec.encode;
  },
  Decoder: class extends EventEmitter {
    add(message: string | Buffer): void {
      this.emit('decoded', decoder.add(message));
    }
    destroy(): void {}
  },
};
