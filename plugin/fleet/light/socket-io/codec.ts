/** How a Socket.IO packet is encoded in messages: the interface of a parser, and the official parser behind it. */
import { Decoder, Encoder, type Packet, PacketType } from 'socket.io-parser';

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

/** The official parser for one packet: a head in text, then its binary attachments. */
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
    const messages: (string | ArrayBufferView | ArrayBuffer)[] = encoder.encode(packet);
    return messages.map((message) => (typeof message === 'string' ? message : toBytes(message)));
  },

  decoderFor(first) {
    return hasAttachments(first) ? new OfficialDecoder() : wholePackets;
  },
};

function hasAttachments(first: string | Buffer): boolean {
  return first[0] === String(PacketType.BINARY_EVENT) || first[0] === String(PacketType.BINARY_ACK);
}

export function toBytes(data: ArrayBufferView | ArrayBuffer): Uint8Array {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
