/**
 * Socket.IO connections in a HAR file. A connection consists of the requests of one Engine.IO session and their
 * packets.
 */
import { Decoder, type Packet, PacketType } from 'socket.io-parser';
import type { Transport } from '../../../../protocol/wire/connection.ts';
import { UnsupportedServerError } from '../../../run/receivers/explain-failure.ts';
import { escapeTemplates, type HarEntry } from './har-file.ts';

export interface RecordedPacket {
  atMs: number;
  isSent: boolean;
  kind: 'connect' | 'event' | 'ack';
  namespace: string;
  /** Acknowledgement id; equal in an event and its acknowledgement. */
  id: number | undefined;
  /** Name and arguments of an event, arguments of an acknowledgement, or `auth` of a client's connect packet. */
  data: unknown;
}

export interface RecordedConnection {
  /** Origin of the server, with http or https as protocol. */
  origin: string;
  path: string;
  /** Query of the handshake, without Engine.IO's own parameters. */
  query: Record<string, string>;
  handshake: HarEntry;
  transports: Transport[];
  /** Packets of the connection in the order in which they were sent or received. */
  packets: RecordedPacket[];
  /** Whether the file contains the connection's WebSocket, but not its messages. */
  lacksFrames: boolean;
  /** Number of messages that Socket.IO's own parser cannot read. */
  undecodable: number;
}

export const DEFAULT_SOCKETIO_PATH = '/socket.io/';
export const ENGINE_IO_QUERY_KEYS = new Set(['EIO', 'transport', 'sid', 't', 'b64', 'j']);
const MESSAGE = '4';
/** Response to the pending poll when the client upgrades to WebSocket. */
const UPGRADING = '6';
const SEPARATOR = '\x1e';
const KINDS: Partial<Record<PacketType, RecordedPacket['kind']>> = {
  [PacketType.CONNECT]: 'connect',
  [PacketType.EVENT]: 'event',
  [PacketType.ACK]: 'ack',
};

export function isEngineIoRequest({ url, method }: HarEntry): boolean {
  return method !== 'OPTIONS' && url.searchParams.has('EIO') && url.searchParams.has('transport');
}

/**
 * Returns the connections in the file, starting with the connections that have the most packets.
 * @throws UnsupportedServerError for Socket.IO 2
 */
export function recordedConnectionsIn(entries: HarEntry[]): RecordedConnection[] {
  const own = entries.filter(isEngineIoRequest);
  if (own.length > 0 && own.every(({ url }) => url.searchParams.get('EIO') === '3')) {
    throw new UnsupportedServerError(originOf(own[0] as HarEntry));
  }
  return [...Map.groupBy(own, sessionOf).values()]
    .map(connectionOf)
    .sort((a, b) => b.packets.length - a.packets.length);
}

/**
 * Returns a value that identifies the session of a request: the session id, which the response to a polling handshake
 * contains. A WebSocket without a session id counts as a separate session.
 */
function sessionOf({ url, response }: HarEntry): unknown {
  const [, opened] = /^0\{"sid":"([^"]+)"/.exec(response.text) ?? [];
  return url.searchParams.get('sid') ?? opened ?? Symbol();
}

function originOf({ url }: HarEntry): string {
  return url.origin.replace(/^ws/, 'http');
}

function connectionOf(entries: HarEntry[]): RecordedConnection {
  const [handshake] = entries as [HarEntry];
  const query = [...handshake.url.searchParams].filter(([name]) => !ENGINE_IO_QUERY_KEYS.has(name));
  const used = new Set(entries.map(({ url }) => url.searchParams.get('transport') as Transport));
  const sockets = entries.filter(({ url }) => url.searchParams.get('transport') === 'websocket');
  // HAR files of Safari contain no WebSockets.
  const lacksSocket = sockets.length === 0 && entries.some(({ response }) => response.text === UPGRADING);
  if (lacksSocket) used.add('websocket');
  const decoded = { packets: [] as RecordedPacket[], undecodable: 0 };
  for (const isSent of [true, false]) decode(entries, isSent, decoded);
  return {
    origin: originOf(handshake),
    path: handshake.url.pathname,
    query: Object.fromEntries(query),
    handshake,
    transports: (['polling', 'websocket'] as const).filter((transport) => used.has(transport)),
    lacksFrames: lacksSocket || sockets.some(({ frames = [] }) => frames.length === 0),
    packets: decoded.packets.sort((a, b) => a.atMs - b.atMs),
    undecodable: decoded.undecodable,
  };
}

/** Decodes the messages that the client or the server sent. Attachments follow their packet. */
function decode(entries: HarEntry[], isSent: boolean, into: { packets: RecordedPacket[]; undecodable: number }): void {
  let atMs = 0;
  let decoder = newDecoder();
  function newDecoder() {
    const fresh = new Decoder();
    fresh.on('decoded', ({ type, nsp, id, data }: Packet) => {
      const kind = KINDS[type];
      if (kind) into.packets.push({ atMs, isSent, kind, namespace: escapeTemplates(nsp), id, data });
    });
    return fresh;
  }
  for (const message of entries.flatMap((entry) => messagesOf(entry, isSent))) {
    atMs = message.atMs;
    try {
      decoder.add(message.data);
    } catch {
      into.undecodable++;
      decoder = newDecoder();
    }
  }
}

/** Returns the contents of the Engine.IO packets that are messages. Leaves out pings and other packets. */
function messagesOf(
  { url, method, startedAtMs, endedAtMs, postData, response, frames }: HarEntry,
  isSent: boolean,
): { atMs: number; data: string | Buffer }[] {
  if (url.searchParams.get('transport') === 'websocket') {
    const own = (frames ?? []).filter((frame) => frame.isSent === isSent);
    return own.flatMap(({ atMs, data }) => contentOf(data).map((content) => ({ atMs, data: content })));
  }
  const text = isSent ? (method === 'POST' ? (postData?.text ?? '') : '') : method === 'GET' ? response.text : '';
  // Request times in the file are truncated to milliseconds, so 1 ms is added.
  const atMs = isSent ? startedAtMs + 1 : endedAtMs;
  return text.split(SEPARATOR).flatMap((data) => contentOf(data).map((content) => ({ atMs, data: content })));
}

function contentOf(data: string | Buffer): (string | Buffer)[] {
  if (typeof data !== 'string') return [data];
  if (data.startsWith(MESSAGE)) return [data.slice(1)];
  // A binary attachment in a polling payload is base64 after the letter `b`.
  return data.startsWith('b') ? [Buffer.from(data.slice(1), 'base64')] : [];
}
