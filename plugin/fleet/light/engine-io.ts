/** The middle layer of a light connection: Engine.IO 4 over WebSocket, with its handshake, pings and messages. */
import { isUtf8 } from 'node:buffer';
import type { ClientOptions } from '../client.ts';
import { encodeFrame, OPCODE } from './frames.ts';
import { planUpgrade, type UpgradePlan, type WebSocketOptions } from './handshake.ts';
import { ProtocolError } from './protocol-error.ts';
import type { Shared } from './shared.ts';
import { WebSocketConnection } from './websocket.ts';

type EngineIoOptions = WebSocketOptions & Pick<ClientOptions, 'path' | 'query'>;

/** Every connection keeps its own. */
const MAX_SESSION_ID_LENGTH = 1000;
const MAX_PING_INTERVAL_MS = 2 ** 30;
const PACKET = { open: 0x30, close: 0x31, pong: 0x33, ping: 0x32, message: 0x34, upgrade: 0x35, noop: 0x36 } as const;
const PONG = encodeFrame(OPCODE.text, '3');

/** Computed once for all connections with the same options. */
const plans = new WeakMap<EngineIoOptions, UpgradePlan>();

export abstract class EngineIoConnection<
  Options extends EngineIoOptions = EngineIoOptions,
  Common extends Shared = Shared,
> extends WebSocketConnection<Options, Common> {
  /** Empty until the handshake. */
  protected sessionId = '';
  /** The longest time between two pings. */
  #pingEveryMs = 0;

  /** The handshake is done. Call `opened()`, or have `attempt` reach the next stage. */
  protected abstract onSession(): void;
  /** A text message, without its type; the bytes are valid only during the call. @throws ProtocolError */
  protected abstract onMessage(bytes: Buffer, start: number, end: number): void;
  protected abstract onBinaryMessage(bytes: Buffer, start: number, end: number): void;

  protected override plan(): UpgradePlan {
    let plan = plans.get(this.options);
    if (plan === undefined) {
      plan = planUpgrade(this.options, targetOf(this.options));
      plans.set(this.options, plan);
    }
    return plan;
  }

  protected override onUpgraded(): void {
    this.attempt?.reached('open');
  }

  protected override onText(bytes: Buffer, start: number, end: number): void {
    if (this.sessionId === '') {
      const { sessionId, pingEveryMs } = readHandshake(bytes, start, end);
      this.sessionId = sessionId;
      this.#pingEveryMs = pingEveryMs;
      this.pingDeadlineMs = this.shared.nowMs() + pingEveryMs;
      this.onSession();
      return;
    }
    const type = start < end ? bytes[start] : undefined;
    if (type === PACKET.message) this.onMessage(bytes, start + 1, end);
    else if (type === PACKET.ping) {
      this.pingDeadlineMs = this.shared.nowMs() + this.#pingEveryMs;
      this.answerPing(PONG);
    } else if (type === PACKET.close) {
      if (this.state === 'open') this.leave('transport close');
      else this.fail('closed', 'the server closed the Engine.IO session');
    } else if (type !== PACKET.noop && type !== PACKET.pong && type !== PACKET.upgrade) {
      throw engineIoError('unknown Engine.IO packet');
    }
  }

  protected override onBinary(bytes: Buffer, start: number, end: number): void {
    if (this.sessionId === '') throw engineIoError('a binary message before the Engine.IO handshake');
    this.onBinaryMessage(bytes, start, end);
  }
}

/** @throws ProtocolError */
function readHandshake(bytes: Buffer, start: number, end: number): { sessionId: string; pingEveryMs: number } {
  const text = start < end && bytes[start] === PACKET.open ? decodeText(bytes, start + 1, end) : '';
  let open: { sid?: unknown; pingInterval?: unknown; pingTimeout?: unknown } | null = null;
  try {
    open = JSON.parse(text);
  } catch {
    // reported below
  }
  const sid = open?.sid;
  const [interval, timeout] = [open?.pingInterval, open?.pingTimeout];
  const pingEveryMs = typeof interval === 'number' && typeof timeout === 'number' ? interval + timeout : 0;
  if (typeof sid !== 'string' || sid === '' || sid.length > MAX_SESSION_ID_LENGTH || !(pingEveryMs > 0)) {
    throw engineIoError('the server speaks WebSocket, but sent no Engine.IO handshake');
  }
  return { sessionId: sid, pingEveryMs: Math.min(Math.ceil(pingEveryMs), MAX_PING_INTERVAL_MS) };
}

/** The path has one leading and one trailing slash, like socket.io-client's. */
export function targetOf({ path, query }: EngineIoOptions): string {
  const url = new URL(`/${path.replace(/^\/|\/$/g, '')}/`.replace('//', '/'), 'http://localhost');
  return `${url.pathname}?${new URLSearchParams({ ...query, EIO: '4', transport: 'websocket' })}`;
}

/** @returns a frame for each message, one after the other: text for a string, binary for bytes */
export function encodeMessages(messages: readonly (string | Uint8Array)[]): Buffer {
  const frames = messages.map((message) =>
    typeof message === 'string' ? encodeFrame(OPCODE.text, `4${message}`) : encodeFrame(OPCODE.binary, message),
  );
  return frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames);
}

/** @throws ProtocolError */
export function decodeText(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end);
  // Invalid bytes decode to this character, which the server can also have sent as such.
  if (text.includes('\ufffd') && !isUtf8(bytes.subarray(start, end))) {
    throw engineIoError('a text message that is not UTF-8');
  }
  return text;
}

function engineIoError(message: string): ProtocolError {
  return new ProtocolError('not_engineio', 'parse error', message);
}
