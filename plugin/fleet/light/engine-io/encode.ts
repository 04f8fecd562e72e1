/** Encodes Engine.IO message packets and their WebSocket frames. */
import type { PerMessageDeflate } from '../deflate/per-message-deflate.ts';
import type { EngineIoPacket } from '../polling/payload.ts';
import { encodeMessage, OPCODE } from '../websocket/frames.ts';

/** Returns the packet of a message. */
export function packetOf(message: EngineIoPacket): EngineIoPacket {
  return typeof message === 'string' ? `4${message}` : message;
}

/** Returns the packet as a WebSocket frame. */
export function frameOf(packet: EngineIoPacket, deflate: PerMessageDeflate | undefined): Buffer {
  return encodeMessage(typeof packet === 'string' ? OPCODE.text : OPCODE.binary, packet, deflate);
}

/** Returns the concatenated frames of the messages: text for strings, binary for bytes. */
export function encodeMessages(messages: readonly EngineIoPacket[], deflate?: PerMessageDeflate): Buffer {
  const frames = messages.map((message) => frameOf(packetOf(message), deflate));
  return frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames);
}
