/** How a Socket.IO packet is encoded in messages: a parser, the official one or another, as the light client uses it. */
import * as official from 'socket.io-parser';
import { type Packet, PacketType } from 'socket.io-parser';
import type { Parser } from '../../client/parser.ts';

export { type Packet, PacketType };

/** Stateless: one serves all connections of a process. */
export interface PacketCodec {
  /** Whether events are text messages as `2["name",…]`, so that names and broadcasts can be read without decoding. */
  readonly hasPlainEvents: boolean;
  /** @returns the messages of the packet: a string is sent as text, bytes as binary */
  encode(packet: Packet): (string | Uint8Array)[];
  /** @returns a decoder for the packet that begins with this message; shared if the packet is a single message */
  decoderFor(first: string | Buffer): PacketDecoder;
}

export interface PacketDecoder {
  /**
   * Adds the packet's next message.
   * @returns the packet when it is complete
   * @throws Error if it is not part of a packet
   */
  add(message: string | Buffer): Packet | undefined;
}

/** For one packet, which can have several messages. */
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

/** The parser that Socket.IO has by default. */
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
