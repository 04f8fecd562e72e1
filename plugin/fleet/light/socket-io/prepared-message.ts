/** A message that many connections send repeatedly: encoded once, after which only its acknowledgement id is replaced. */
import { FIRST_REPEATED_ACK_ID, type RepeatedMessage } from '../../client/client.ts';
import { encodeMessages } from '../engine-io/engine-io-handshake.ts';
import type { EngineIoPacket } from '../polling/payload.ts';
import { type PacketCodec, PacketType } from './codec.ts';

export class PreparedMessage {
  readonly #codec: PacketCodec;
  readonly #message: RepeatedMessage;
  /** Frames with the first id, or without an id. */
  readonly #frames: Buffer;
  /** Offset of the id in `#frames`; -1 if it cannot be replaced in place, as with another parser's format. */
  readonly #idOffset: number;

  constructor(codec: PacketCodec, message: RepeatedMessage) {
    this.#codec = codec;
    this.#message = message;
    const packets = this.packets(message.acknowledge ? FIRST_REPEATED_ACK_ID : undefined);
    this.#frames = encodeMessages(packets);
    this.#idOffset = message.acknowledge ? ackIdOffset(packets, this.#frames, message.namespace) : -1;
  }

  /** Returns the packets, for polling or compression. */
  packets(ackId: number | undefined): EngineIoPacket[] {
    const { namespace: nsp, event, args } = this.#message;
    return this.#codec.encode({ type: PacketType.EVENT, nsp, data: [event, ...args], id: ackId });
  }

  /** Returns the WebSocket frames. Callers must not change the bytes. */
  frames(ackId: number | undefined): Buffer {
    if (ackId === undefined) return this.#frames;
    if (this.#idOffset < 0) return encodeMessages(this.packets(ackId));
    // A copy, because the kernel can read it later.
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

/** One entry per message, because all connections of a process have the same parser. */
const prepared = new WeakMap<RepeatedMessage, PreparedMessage>();

export function preparedOf(codec: PacketCodec, message: RepeatedMessage): PreparedMessage {
  let found = prepared.get(message);
  if (found === undefined) {
    found = new PreparedMessage(codec, message);
    prepared.set(message, found);
  }
  return found;
}
