/** A message that many connections send again and again: encoded once, and then only its acknowledgement id is written. */
import { FIRST_REPEATED_ACK_ID, type RepeatedMessage } from '../../client/repeated-message.ts';
import { encodeMessages } from '../engine-io/encode.ts';
import type { EngineIoPacket } from '../polling/payload.ts';
import { type PacketCodec, PacketType } from './codec.ts';

export class PreparedMessage {
  readonly #codec: PacketCodec;
  readonly #message: RepeatedMessage;
  /** With the first id, or without any. */
  readonly #frames: Buffer;
  /** Where the id is; -1 where it cannot be written in place, as by a parser of another format. */
  readonly #idAt: number;

  constructor(codec: PacketCodec, message: RepeatedMessage) {
    this.#codec = codec;
    this.#message = message;
    const packets = this.packets(message.acknowledge ? FIRST_REPEATED_ACK_ID : undefined);
    this.#frames = encodeMessages(packets);
    this.#idAt = message.acknowledge ? placeOfId(packets, this.#frames, message.namespace) : -1;
  }

  /** For a transport that takes one message at a time. */
  packets(ackId: number | undefined): EngineIoPacket[] {
    const { namespace: nsp, event, args } = this.#message;
    return this.#codec.encode({ type: PacketType.EVENT, nsp, data: [event, ...args], id: ackId });
  }

  /** As WebSocket sends them. The bytes must not be changed. */
  frames(ackId: number | undefined): Buffer {
    if (ackId === undefined) return this.#frames;
    if (this.#idAt < 0) return encodeMessages(this.packets(ackId));
    // A copy: the kernel may take it later.
    const frames = Buffer.from(this.#frames);
    frames.write(String(ackId), this.#idAt, 'latin1');
    return frames;
  }
}

function placeOfId(packets: EngineIoPacket[], frames: Buffer, namespace: string): number {
  const [packet] = packets;
  const head = `${PacketType.EVENT}${namespace === '/' ? '' : `${namespace},`}`;
  if (packets.length !== 1 || typeof packet !== 'string' || !packet.startsWith(`${head}${FIRST_REPEATED_ACK_ID}[`)) {
    return -1;
  }
  return frames.length - Buffer.byteLength(packet) + Buffer.byteLength(head);
}

/** One per message and process, as all its connections have the same parser. */
const prepared = new WeakMap<RepeatedMessage, PreparedMessage>();

export function preparedOf(codec: PacketCodec, message: RepeatedMessage): PreparedMessage {
  let found = prepared.get(message);
  if (found === undefined) {
    found = new PreparedMessage(codec, message);
    prepared.set(message, found);
  }
  return found;
}
