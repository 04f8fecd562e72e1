/**
 * Reads the handshake of Engine.IO 4, builds the target of its requests, and encodes message packets with their
 * WebSocket frames.
 */
import { isUtf8 } from 'node:buffer';
import type { HandshakeSettings } from '../../../../protocol/link/close-kinds.ts';
import type { ClientOptions } from '../../client/client.ts';
import { ENGINE_IO_3_HANDSHAKE } from '../../client/failure.ts';
import { handshakeSettingsOf } from '../../client/handshake-settings.ts';
import type { PerMessageDeflate } from '../deflate/per-message-deflate.ts';
import type { EngineIoPacket } from '../polling/payload.ts';
import { engineIoError, socketIo2Error } from '../protocol-error.ts';
import { encodeMessage, WEBSOCKET_OPCODE } from '../websocket/frames.ts';

/** Largest length of a session id. It is limited, because every connection stores its session id. */
const MAX_SESSION_ID_LENGTH = 1000;
const MAX_PING_INTERVAL_MS = 2 ** 30;
const OPEN = 0x30;

interface Handshake {
  sessionId: string;
  /** Longest time between two pings of the server, in milliseconds. */
  pingEveryMs: number;
  /** Whether the server offers to upgrade a polling session to WebSocket. */
  offersWebSocket: boolean;
  announced: HandshakeSettings;
}

/** @throws ProtocolError */
export function readHandshake(bytes: Buffer, start: number, end: number): Handshake {
  if (ENGINE_IO_3_HANDSHAKE.test(bytes.toString('utf8', start, Math.min(end, start + 40)))) throw socketIo2Error();
  const text = start < end && bytes[start] === OPEN ? decodeText(bytes, start + 1, end) : '';
  let open: Record<'sid' | 'pingInterval' | 'pingTimeout' | 'upgrades' | 'maxPayload', unknown> | null = null;
  try {
    open = JSON.parse(text);
  } catch {
    // reported below
  }
  const sid = open?.sid;
  const [interval, timeout] = [open?.pingInterval, open?.pingTimeout];
  const pingEveryMs = typeof interval === 'number' && typeof timeout === 'number' ? interval + timeout : 0;
  if (typeof sid !== 'string' || sid === '' || sid.length > MAX_SESSION_ID_LENGTH || !(pingEveryMs > 0)) {
    throw engineIoError('the answer is not an Engine.IO handshake');
  }
  return {
    sessionId: sid,
    pingEveryMs: Math.min(Math.ceil(pingEveryMs), MAX_PING_INTERVAL_MS),
    offersWebSocket: Array.isArray(open?.upgrades) && open.upgrades.includes('websocket'),
    announced: handshakeSettingsOf(open ?? {}),
  };
}

/**
 * Returns path and query of a request, as socket.io-client builds them.
 * @param options.path path with a slash at each end
 */
export function engineIoRequestTarget(
  { path, query }: Pick<ClientOptions, 'path' | 'query'>,
  transport: ClientOptions['transports'][number],
): string {
  const url = new URL(path, 'http://localhost');
  const all = Object.entries({ ...query, EIO: '4', transport });
  return `${url.pathname}?${all.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')}`;
}

/** @throws ProtocolError */
export function decodeText(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end);
  // Invalid UTF-8 decodes to U+FFFD, but U+FFFD can also be a valid character of the message.
  if (text.includes('\ufffd') && !isUtf8(bytes.subarray(start, end))) {
    throw engineIoError('a text message that is not UTF-8');
  }
  return text;
}

export function engineIoPacketOf(message: EngineIoPacket): EngineIoPacket {
  return typeof message === 'string' ? `4${message}` : message;
}

export function webSocketFrameOf(packet: EngineIoPacket, deflate: PerMessageDeflate | undefined): Buffer {
  return encodeMessage(typeof packet === 'string' ? WEBSOCKET_OPCODE.text : WEBSOCKET_OPCODE.binary, packet, deflate);
}

/** Returns the WebSocket frames of the messages in one buffer: text frames for strings, binary frames for bytes. */
export function encodeMessages(messages: readonly EngineIoPacket[], deflate?: PerMessageDeflate): Buffer {
  const frames = messages.map((message) => webSocketFrameOf(engineIoPacketOf(message), deflate));
  return frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames);
}
