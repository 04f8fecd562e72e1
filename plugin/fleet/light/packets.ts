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

/** The last request for a namespace: the next one nearly always says the same. */
let lastRequest: { nsp: string; auth: unknown; packet: Buffer } | undefined;

/** @returns the request for a namespace, as `encodePacket` */
export function encodeConnect(nsp: string, auth: Record<string, unknown> | undefined): Buffer {
  if (lastRequest?.nsp !== nsp || lastRequest.auth !== auth) {
    lastRequest = { nsp, auth, packet: encodePacket({ type: PacketType.CONNECT, nsp, data: auth }) };
  }
  return lastRequest.packet;
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
