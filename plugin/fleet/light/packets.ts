/** Socket.IO packets outside the per-message path: the official parser, reporting errors our way. */
import { Decoder, Encoder, type Packet, PacketType } from 'socket.io-parser';
import { encodeFrame, OPCODE } from './frames.ts';
import { socketIoError } from './protocol-error.ts';

export { type Packet, PacketType };

const encoder = new Encoder();

/** @returns the packet as WebSocket frames: one text frame, then one frame for each binary attachment */
export function encodePacket(packet: Packet): Buffer {
  const parts: (string | ArrayBufferView | ArrayBuffer)[] = encoder.encode(packet);
  const frames = parts.map((part) =>
    typeof part === 'string' ? encodeFrame(OPCODE.text, `4${part}`) : encodeFrame(OPCODE.binary, toBytes(part)),
  );
  return frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames);
}

function toBytes(part: ArrayBufferView | ArrayBuffer): Uint8Array {
  if (part instanceof ArrayBuffer) return new Uint8Array(part);
  return new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
}

/** Decodes a text packet, and collects the attachments of a binary one. */
export class PacketDecoder {
  readonly #decoder = new Decoder();
  #packet: Packet | undefined;

  constructor() {
    this.#decoder.on('decoded', (packet: Packet) => {
      this.#packet = packet;
    });
  }

  /**
   * @param part the packet without Engine.IO's type, or an attachment
   * @returns the packet when it is complete
   * @throws ProtocolError
   */
  add(part: string | Buffer): Packet | undefined {
    try {
      this.#decoder.add(part);
    } catch (error) {
      throw socketIoError(error instanceof Error ? error.message : String(error));
    }
    const packet = this.#packet;
    this.#packet = undefined;
    return packet;
  }
}
