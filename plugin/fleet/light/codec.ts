/** What a Socket.IO packet looks like in messages: the interface of a parser, and the official one behind it. */
import { Decoder, Encoder, type Packet, PacketType } from 'socket.io-parser';

export { type Packet, PacketType };

/** Stateless: one serves all connections of a process. */
export interface PacketCodec {
  /** Whether events are text messages as `2["name",…]`, so that names and broadcasts can be read without decoding. */
  readonly hasPlainEvents: boolean;
  /** @returns the messages of the packet: a string is sent as text, bytes as binary */
  encode(packet: Packet): (string | Uint8Array)[];
  /** @returns a decoder for the packet that begins with this message; one for all, where packets are one message each */
  decoderFor(first: string | Buffer): PacketDecoder;
}

export interface PacketDecoder {
  /**
   * Adds the packet's next message.
   * @returns the packet when it is complete
   * @throws Error for what is no packet
   */
  add(message: string | Buffer): Packet | undefined;
}

/** The official parser around one packet: a head in text, then its binary attachments. */
class OfficialDecoder implements PacketDecoder {
  readonly #decoder = new Decoder();
  #packet: Packet | undefined;

  constructor() {
    this.#decoder.on('decoded', (packet: Packet) => {
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

const encoder = new Encoder();
const wholePackets = new OfficialDecoder();

/** The parser that Socket.IO has by default. */
export const officialCodec: PacketCodec = {
  hasPlainEvents: true,

  encode(packet) {
    const parts: (string | ArrayBufferView | ArrayBuffer)[] = encoder.encode(packet);
    return parts.map((part) => (typeof part === 'string' ? part : toBytes(part)));
  },

  decoderFor(first) {
    return hasAttachments(first) ? new OfficialDecoder() : wholePackets;
  },
};

function hasAttachments(first: string | Buffer): boolean {
  return first[0] === String(PacketType.BINARY_EVENT) || first[0] === String(PacketType.BINARY_ACK);
}

function toBytes(part: ArrayBufferView | ArrayBuffer): Uint8Array {
  if (part instanceof ArrayBuffer) return new Uint8Array(part);
  return new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
}
