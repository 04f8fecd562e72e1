/** A light connection without a network. The test plays the server, byte by byte. */
import { createHash } from 'node:crypto';
import type { ClientOptions, RecoverableSession } from '../../plugin/fleet/client/client.ts';
import { BROADCAST_EVENT_PLAN, type EventPlan } from '../../plugin/fleet/client/counted-event.ts';
import { BufferBudget } from '../../plugin/fleet/light/buffer-budget.ts';
import { LightClients } from '../../plugin/fleet/light/clients.ts';
import type { PerMessageDeflate } from '../../plugin/fleet/light/deflate/per-message-deflate.ts';
import type { ConnectionPool } from '../../plugin/fleet/light/pool.ts';
import type { PacketCodec } from '../../plugin/fleet/light/socket-io/codec.ts';
import type { SocketIoConnection } from '../../plugin/fleet/light/socket-io/socket-io.ts';
import { FrameDecoder } from '../../plugin/fleet/light/websocket/frames.ts';
import { clientOptions, RecordingSink } from './recording-sink.ts';

export const TEXT = 1;
export const BINARY = 2;
export const CLOSE = 8;
export const PING = 9;
export const OPEN_PACKET =
  '0{"sid":"w0-abc","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}';
export const CONNECT_PACKET = '40{"sid":"s1"}';

/** Returns a frame as a server sends it, without a mask. */
export function serverFrame(opcode: number, payload: string | Uint8Array, isFinal = true): Buffer {
  const body = Buffer.from(payload);
  const head = Buffer.alloc(body.length < 126 ? 2 : body.length < 65_536 ? 4 : 10);
  head[0] = (isFinal ? 0x80 : 0) | opcode;
  head[1] = head.length === 2 ? body.length : head.length === 4 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(body.length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(body.length), 2);
  return Buffer.concat([head, body]);
}

export function text(payload: string): Buffer {
  return serverFrame(TEXT, payload);
}

/**
 * Returns a reader of frames like that of a client.
 * @param maxMessages number of messages to read
 */
export function frameReader(maxBytes = 1024 ** 2, deflate?: PerMessageDeflate, maxMessages = Number.POSITIVE_INFINITY) {
  const budget = new BufferBudget();
  const decoder = new FrameDecoder(budget);
  decoder.deflate = deflate;
  const messages: { opcode: number; payload: Buffer }[] = [];
  const onFrame = (opcode: number, bytes: Buffer, start: number, end: number) =>
    messages.push({ opcode, payload: Buffer.from(bytes.subarray(start, end)) }) < maxMessages;
  const feed = (...chunks: Buffer[]) => {
    for (const chunk of chunks) decoder.decode(chunk, 0, chunk.length, { onFrame }, maxBytes);
    return messages;
  };
  return { decoder, budget, messages, feed };
}

/** @returns the response to an upgrade request, for the key in the request */
export function upgradeAnswer(request: Buffer | undefined): Buffer {
  const key = /Sec-WebSocket-Key: (.*)\r\n/.exec(String(request))?.[1] ?? '';
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  return Buffer.from(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
}

export type FakeConnection = ReturnType<typeof fakeConnection>;

/** Returns a connection without a socket that has sent its upgrade request. */
export function fakeConnection(
  namespaces = ['/'],
  options: Partial<ClientOptions> = {},
  { codec, plan, sessions }: { codec?: PacketCodec; plan?: EventPlan; sessions?: readonly RecoverableSession[] } = {},
) {
  const sink = new RecordingSink();
  /** Bytes that the client has written. */
  const sent: Buffer[] = [];
  /** State of the connection: `open` until the client ends or destroys it. */
  const wire = { state: 'open' as 'open' | 'ended' | 'destroyed', unsentBytes: 0 };
  const dial: ConnectionPool['dial'] = (listener) => ({
    listener,
    get writableLength() {
      return wire.unsentBytes;
    },
    write: (bytes: Uint8Array) => sent.push(Buffer.from(bytes)),
    end: (bytes?: Uint8Array) => {
      if (bytes) sent.push(Buffer.from(bytes));
      wire.state = 'ended';
    },
    destroy: () => {
      wire.state = 'destroyed';
    },
  });
  const clients = new LightClients(dial, codec, plan ?? BROADCAST_EVENT_PLAN);
  const connection = clients.create(clientOptions(options), sink, sessions) as SocketIoConnection;
  for (const namespace of namespaces) connection.connect(namespace);
  connection.onWireOpen(false);
  const feed = (bytes: Buffer) => connection.feed(bytes, 0, bytes.length);
  return { connection, sink, sent, wire, upgrade: upgradeAnswer(sent[0]), feed, buffers: clients.buffers };
}

/** Returns a connection with an open namespace `/` and without reports. */
export function openConnection(options: Partial<ClientOptions> = {}, plan?: EventPlan): FakeConnection {
  const fake = fakeConnection(['/'], options, plan && { plan });
  fake.feed(Buffer.concat([fake.upgrade, text(OPEN_PACKET), text(CONNECT_PACKET)]));
  fake.sink.reports.length = 0;
  fake.sent.length = 0;
  return fake;
}

/** @returns the payloads of the client's frames without masks; text as strings */
export function clientFrames(sent: Buffer[]): { opcode: number; payload: string | Buffer }[] {
  const bytes = Buffer.concat(sent);
  const frames = [];
  for (let at = 0; at < bytes.length; ) {
    const opcode = bytes.readUInt8(at) & 0x0f;
    const second = bytes.readUInt8(at + 1);
    if (second < 0x80) throw new Error('a frame of the client is not masked');
    let size = second & 0x7f;
    at += 2;
    if (size === 126) {
      size = bytes.readUInt16BE(at);
      at += 2;
    } else if (size === 127) {
      size = Number(bytes.readBigUInt64BE(at));
      at += 8;
    }
    const mask = bytes.subarray(at, at + 4);
    const payload = bytes.subarray(at + 4, at + 4 + size).map((byte, i) => byte ^ mask.readUInt8(i % 4));
    frames.push({ opcode, payload: opcode === TEXT ? String(Buffer.from(payload)) : Buffer.from(payload) });
    at += 4 + size;
  }
  return frames;
}
