/** Encodes and decodes Socket.IO packets, with the official parser or a custom parser. */
import * as official from 'socket.io-parser';
import { type Packet, PacketType } from 'socket.io-parser';
import type { Parser } from '../../client/parser.ts';

export { type Packet, PacketType };

/** Encoder and decoder of packets. Stateless, so all connections of a process share it. */
export interface PacketCodec {
  /**
   * Whether events are encoded as text such as `2["name",…]`. If so, names and broadcasts can be read without decoding.
   */
  readonly hasPlainEvents: boolean;
  /** Returns the packet's messages: strings for text messages, bytes for binary messages. */
  encode(packet: Packet): (string | Uint8Array)[];
  /** Returns a decoder for the packet that begins with this message. Packets with a single message share a decoder. */
  decoderFor(first: string | Buffer): PacketDecoder;
}

export interface PacketDecoder {
  /**
   * Adds the packet's next message.
   * @returns the packet when it is complete; undefined until then
   * @throws Error if the message does not continue the packet
   */
  add(message: string | Buffer): Packet | undefined;
}

/** Decodes one packet with a Socket.IO parser. */
class ParserDecoder implements PacketDecoder {
  readonly #decoder: InstanceType<Parser['Decoder']>;
  #packet: Packet | undefined;

  constructor({ Decoder }: Parser) {
    this.#decoder = new Decoder();
    this.#decoder.on('decoded', (packet) => {
      this.#packet = packet;
    });
  }

  add(message: string | Buffer): Packet | undefined {
    this.#decoder.add(message);
    const packet = this.#packet;
    this.#packet = undefined;
    return packet;
  }
}

export function parserCodec(parser: Parser): PacketCodec {
  const encoder = new parser.Encoder();
  return {
    hasPlainEvents: false,
    encode: (packet) =>
      encoder.encode(packet).map((message) => (typeof message === 'string' ? message : toBytes(message))),
    decoderFor: () => new ParserDecoder(parser),
  };
}

const wholePackets = new ParserDecoder(official);

/** Codec of Socket.IO's default parser. */
export const officialCodec: PacketCodec = {
  ...parserCodec(official),
  hasPlainEvents: true,
  decoderFor: (first) => (hasAttachments(first) ? new ParserDecoder(official) : wholePackets),
};

function hasAttachments(first: string | Buffer): boolean {
  return first[0] === String(PacketType.BINARY_EVENT) || first[0] === String(PacketType.BINARY_ACK);
}

function toBytes(data: ArrayBufferView | ArrayBuffer): Uint8Array {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
