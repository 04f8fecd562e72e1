/**
 * The floor of clients in Node: Node's TCP handle and the minimal work of floor.c in JavaScript. It expects whole frames
 * and no errors.
 */
import { TcpHandle } from '../../../plugin/fleet/light/sockets/tcp-handle.ts';
import type { WireListener } from '../../../plugin/fleet/light/sockets/wire.ts';
import { encodeFrame, WEBSOCKET_OPCODE } from '../../../plugin/fleet/light/websocket/frames.ts';
import { JOIN_MESSAGE, loadFromArguments, runLoadProgram } from './load-program.ts';

const load = loadFromArguments();
const { hostname, host, port } = new URL(load.url);
const REQUEST = Buffer.from(
  [
    'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1',
    `Host: ${host}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    '\r\n',
  ].join('\r\n'),
);
const frameOf = (text: string) => encodeFrame(WEBSOCKET_OPCODE.text, text);
const CONNECT = frameOf('40');
const JOIN = frameOf(`420${JSON.stringify(JOIN_MESSAGE)}`);
const PONG = frameOf('3');
const BROADCAST = Buffer.from('42["broadcast",{"seq":');
const ZERO = '0'.charCodeAt(0);
const [OPEN, PING, MESSAGE] = ['0', '2', '4'].map((type) => type.charCodeAt(0));

let joined = 0;
let received = 0;
const connections: Connection[] = [];

class Connection implements WireListener {
  readonly #wire = new TcpHandle(this, {
    host: hostname,
    port: Number(port),
    localAddress: undefined,
    localPort: undefined,
  });
  readonly #onJoined: () => void;
  #isUpgraded = false;
  #lastSeq = 0;

  constructor(onJoined: () => void) {
    this.#onJoined = onJoined;
  }

  onTcpOpen(): void {}

  onWireOpen(): void {
    this.#wire.write(REQUEST);
  }

  feed(bytes: Buffer, start: number, end: number): void {
    let at = start;
    if (!this.#isUpgraded) {
      at = bytes.indexOf('\r\n\r\n', start) + 4;
      this.#isUpgraded = true;
    }
    while (at < end) {
      const length = (bytes[at + 1] as number) & 0x7f;
      const isLong = length === 126;
      const payload = at + (isLong ? 4 : 2);
      at = payload + (isLong ? bytes.readUInt16BE(at + 2) : length);
      this.#onMessage(bytes, payload, at);
    }
    if (at !== end) throw new Error('an incomplete frame');
  }

  #onMessage(bytes: Buffer, start: number, end: number): void {
    const type = bytes[start];
    if (type === PING) this.#wire.write(PONG);
    else if (type === OPEN) this.#wire.write(CONNECT);
    else if (type === MESSAGE && bytes[start + 1] === ZERO) this.#wire.write(JOIN);
    else if (isBroadcast(bytes, start)) this.#onBroadcast(bytes, start, end);
    else {
      joined++;
      this.#onJoined();
    }
  }

  #onBroadcast(bytes: Buffer, start: number, end: number): void {
    let seq = 0;
    for (let at = start + BROADCAST.length; at < end; at++) {
      const digit = (bytes[at] as number) - ZERO;
      if (digit < 0 || digit > 9) break;
      seq = seq * 10 + digit;
    }
    if (seq > this.#lastSeq) received++;
    this.#lastSeq = seq;
  }

  onWireError(error: Error): void {
    throw error;
  }

  onWireClosed(): void {}

  close(): void {
    this.#wire.destroy();
  }
}

function isBroadcast(bytes: Buffer, start: number): boolean {
  for (let at = 0; at < BROADCAST.length; at++) if (bytes[start + at] !== BROADCAST[at]) return false;
  return true;
}

function connectOne(): Promise<void> {
  return new Promise((resolve) => connections.push(new Connection(resolve)));
}

async function counts() {
  for (const connection of connections) connection.close();
  return { joined, received };
}

await runLoadProgram(load, connectOne, counts);
