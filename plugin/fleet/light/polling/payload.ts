/** Engine.IO 4 packets in the body of a polling request or response: text separated by 0x1e, binary in base64. */
import { engineIoError } from '../protocol-error.ts';

/** Packet of Engine.IO: a text that begins with the packet type, or the bytes of a binary message. */
export type EngineIoPacket = string | Uint8Array;

export interface PacketHandler {
  /** Called for a packet; `bytes[start, end)` is valid only during the call. @returns false to stop reading */
  onPacket(bytes: Buffer, start: number, end: number): boolean;
  onBinaryPacket(bytes: Buffer): boolean;
}

const SEPARATOR = '\x1e';
const SEPARATOR_BYTE = 0x1e;
export const BASE64_PACKET_TYPE = 0x62;

export function encodePayload(packets: readonly EngineIoPacket[]): string {
  return packets.map(encodePacket).join(SEPARATOR);
}

function encodePacket(packet: EngineIoPacket): string {
  if (typeof packet === 'string') return packet;
  return `b${Buffer.from(packet.buffer, packet.byteOffset, packet.byteLength).toString('base64')}`;
}

/**
 * Decodes the packets in `bytes[start, end)` without copying text.
 * @throws ProtocolError
 */
export function decodePayload(bytes: Buffer, start: number, end: number, handler: PacketHandler): void {
  // A subarray limits the search: bytes after `end` belong to older messages.
  const payload = bytes.subarray(start, end);
  for (let at = start; at <= end; ) {
    const separator = payload.indexOf(SEPARATOR_BYTE, at - start);
    const packetEnd = separator < 0 ? end : start + separator;
    if (packetEnd === at) throw engineIoError('an empty packet in a polling answer');
    const continues =
      bytes[at] === BASE64_PACKET_TYPE
        ? handler.onBinaryPacket(decodeBinary(bytes, at, packetEnd))
        : handler.onPacket(bytes, at, packetEnd);
    if (!continues) return;
    at = packetEnd + 1;
  }
}

/**
 * Decodes a base64 packet.
 * @param start start of the packet, at its type
 */
export function decodeBinary(bytes: Buffer, start: number, end: number): Buffer {
  return Buffer.from(bytes.toString('latin1', start + 1, end), 'base64');
}

/**
 * Returns how many packets fit into a request; at least 1 if there are any. Estimates base64 as engine.io-client does.
 * @param maxBytes limit from the server's handshake; 0 for no limit
 */
export function countFittingPackets(packets: readonly EngineIoPacket[], maxBytes: number): number {
  if (maxBytes === 0 || packets.length < 2) return packets.length;
  let sizeBytes = 1;
  for (const [index, packet] of packets.entries()) {
    sizeBytes += typeof packet === 'string' ? Buffer.byteLength(packet) - 1 : Math.ceil(packet.byteLength * 1.33);
    if (index > 0 && sizeBytes > maxBytes) return index;
    sizeBytes += 2;
  }
  return packets.length;
}
