/**
 * A message that many connections send repeatedly. The message is encoded once; for each send, only its acknowledgement
 * id is replaced.
 */
import { FIRST_REPEATED_ACK_ID, type RepeatedMessage } from '../../client/client.ts';
import { encodeMessages } from '../engine-io/engine-io-handshake.ts';
import type { EngineIoPacket } from '../polling/payload.ts';
import { type PacketCodec, PacketType } from './codec.ts';

export class PreparedMessage {
  readonly #codec: PacketCodec;
  readonly #message: RepeatedMessage;
  /** Encoded WebSocket frames, with the first acknowledgement id or without an id. */
  readonly #frames: Buffer;
  /**
   * Position of the acknowledgement id in `#frames`. -1 if it cannot be replaced in place, for example with a custom
   * parser.
   */
  readonly #idOffset: number;

  constructor(codec: PacketCodec, message: RepeatedMessage) {
    this.#codec = codec;
    this.#message = message;
    const packets = this.packets(message.acknowledge ? FIRST_REPEATED_ACK_ID : undefined);
    this.#frames = encodeMessages(packets);
    this.#idOffset = message.acknowledge ? ackIdOffset(packets, this.#frames, message.namespace) : -1;
  }

  /** Returns the encoded packets, for polling and for compression. */
  packets(ackId: number | undefined): EngineIoPacket[] {
    const { namespace: nsp, event, args } = this.#message;
    return this.#codec.encode({ type: PacketType.EVENT, nsp, data: [event, ...args], id: ackId });
  }

  /** Returns the encoded WebSocket frames. Callers must not change the bytes. */
  frames(ackId: number | undefined): Buffer {
    if (ackId === undefined) return this.#frames;
    if (this.#idOffset < 0) return encodeMessages(this.packets(ackId));
    // Frames with an id are copied, because the kernel may read the bytes later.
    const frames = Buffer.from(this.#frames);
    frames.write(String(ackId), this.#idOffset, 'latin1');
    return frames;
  }
}

function ackIdOffset(packets: EngineIoPacket[], frames: Buffer, namespace: string): number {
  const [packet] = packets;
  const head = `${PacketType.EVENT}${namespace === '/' ? '' : `${namespace},`}`;
  if (packets.length !== 1 || typeof packet !== 'string' || !packet.startsWith(`${head}${FIRST_REPEATED_ACK_ID}[`)) {
    return -1;
  }
  return frames.length - Buffer.byteLength(packet) + Buffer.byteLength(head);
}

/**
 * Encoded form of each repeated message. One entry per message is enough, because all connections of a process use the
 * same parser.
 */
const prepared = new WeakMap<RepeatedMessage, PreparedMessage>();

export function preparedMessage(codec: PacketCodec, message: RepeatedMessage): PreparedMessage {
  let found = prepared.get(message);
  if (found === undefined) {
    found = new PreparedMessage(codec, message);
    prepared.set(message, found);
  }
  return found;
}
