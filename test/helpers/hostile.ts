/**
 * Malicious input on the wire. It is text, because JSON permits values that `JSON.stringify` never writes, such as
 * 1e400.
 */
import { type EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { WebSocket } from 'ws';

const deep = (open: string, close: string, levels: number) => open.repeat(levels) + close.repeat(levels);

/** Values that replace any argument or field. */
const VALUES = [
  ...['1e400', '-1e400', '-0', '0', '-1', '1.5', '9007199254740993', '1e308', '5e-324', '10000000'],
  ...['null', 'true', 'false', '""', '"NaN"', '"Infinity"', '"__proto__"', '"\\u0000\\ud800"'],
  ...['[]', '{}', '[[]]', '{"__proto__":{"polluted":1}}', '{"toString":1,"valueOf":1}', '{"length":1e9}'],
  ...[JSON.stringify('x'.repeat(40_000)), `[${'7,'.repeat(20_000)}7]`, deep('[', ']', 10_000)],
  `{${Array.from({ length: 4000 }, (_, key) => `"k${key}":1`).join()}}`,
];

/** Values up to the size limit that a server accepts from an unauthenticated network. */
const LARGE_VALUES = [
  JSON.stringify('x'.repeat(900_000)),
  `{"clientKey":"capacity:${'x'.repeat(900_000)}"}`,
  `[${'7,'.repeat(1e5)}7]`,
  deep('[', ']', 200_000),
  deep('{"data":', '}', 50_000).replace('{"data":}', '{"data":1}'),
];

/**
 * @returns lists of arguments: each value alone, each value in each field of `shape`, no argument, and too many
 * arguments
 */
export function hostileArguments(shape: Record<string, string>, large = false): string[][] {
  const values = large ? [...VALUES, ...LARGE_VALUES] : VALUES;
  const object = (changes: Record<string, string>) =>
    `{${Object.entries({ ...shape, ...changes })
      .map(([key, value]) => `${JSON.stringify(key)}:${value}`)
      .join()}}`;
  const inFields = Object.keys(shape).flatMap((key) => values.map((value) => [object({ [key]: value })]));
  return [[], ...values.map((value) => [value]), ...inFields, [object({}), 'null', '{}'], Array(500).fill(object({}))];
}

/**
 * @returns Socket.IO packets for each list: with and without an acknowledgement, with complete and with missing
 * attachments
 */
export function hostilePackets(event: string, lists: string[][], namespace = ''): (string | Buffer)[] {
  const body = (args: string[]) => `[${[JSON.stringify(event), ...args].join()}]`;
  const attached = '{"_placeholder":true,"num":0}';
  return [
    ...lists.flatMap((args) => [`42${namespace}${body(args)}`, `42${namespace}7${body(args)}`]),
    ...[`451-${namespace}${body([attached])}`, Buffer.alloc(1000)],
    `451-${namespace}9${body([`{"seq":${attached},"sentAtUs":${attached},"clientKey":${attached}}`])}`,
    Buffer.alloc(9),
  ];
}

/** Packets that make any Socket.IO server close the connection, so each needs its own connection. */
export const BROKEN_PACKETS: (string | Buffer)[] = [
  ...['4', '42', '42[', '42[]', '42[1e400]', '42[null]', '42{"a":1}', '49[]', '4-1', '43', '43[]', '4399[1]'],
  ...['disconnect', 'newListener', '__proto__'].map((event) => `42["${event}"]`),
  ...['451-["join_room"]', '4599999-["a"]', '45-["a"]', '46'],
  ...['40/nowhere', '40/', '41', '44{}', '4', '0', '1', '2', '3', '5', '6', '7', 'bx', '\u0000', ''],
  Buffer.alloc(100_000),
];

/** Returns a promise for the close. A reset is not an error here. */
function closed(emitter: EventEmitter): Promise<unknown> {
  emitter.on('error', () => {});
  return new Promise((resolve) => emitter.once('close', resolve));
}

/** A WebSocket client that sends hand-written Engine.IO packets. */
export class RawClient {
  readonly #ws: WebSocket;
  /** Resolves when either side has closed the connection. */
  readonly closed: Promise<unknown>;
  /** Number of received acknowledgements and replies. */
  answers = 0;

  private constructor(ws: WebSocket) {
    this.#ws = ws;
    this.closed = closed(ws);
    ws.on('message', (data) => {
      const text = String(data);
      if (text === '2') ws.send('3');
      else if (text.startsWith('43')) this.answers++;
    });
  }

  /** @param connectPacket CONNECT packet of Socket.IO */
  static async connect(port: number, connectPacket = '40', headers: Record<string, string> = {}): Promise<RawClient> {
    const ws = new WebSocket(`ws://127.0.0.1:${port}/socket.io/?EIO=4&transport=websocket`, {
      perMessageDeflate: false,
      headers,
    });
    const client = new RawClient(ws);
    await once(ws, 'open');
    const connected = new Promise<void>((resolve) => {
      ws.on('message', (data) => /^4[04]/.test(String(data)) && resolve());
      client.closed.then(() => resolve());
    });
    ws.send(connectPacket);
    await connected;
    return client;
  }

  send(packets: (string | Buffer)[]): void {
    for (const packet of packets) this.#ws.send(packet);
  }

  /** Resolves when all data has been passed to the network, or when the server has closed the connection. */
  async sent(): Promise<void> {
    const flushed = new Promise<void>((resolve) => this.#ws.send('3', () => resolve()));
    await Promise.race([flushed, this.closed]);
  }

  /** Resolves when the server has read all data, or has closed the connection. */
  async read(): Promise<void> {
    if (this.#ws.readyState !== WebSocket.OPEN) return;
    this.#ws.ping();
    await Promise.race([new Promise((resolve) => this.#ws.once('pong', resolve)), this.closed]);
  }

  deafen(): void {
    this.#ws.pause();
  }

  async close(): Promise<void> {
    if (this.#ws.isPaused) this.#ws.terminate();
    this.#ws.close();
    await this.closed;
  }
}

/** Malformed and unusual requests. `HOST` stands for the address. */
const REQUESTS = [
  ...['GET //', 'GET ///x?', 'GET http://', 'GET http://[', 'GET %', 'GET /%ff%00?%', 'GET constructor', 'GET /..//'],
  ...['OPTIONS *', 'GET *', 'POST /metrics', 'TRACE /', 'CONNECT HOST', 'CONNECT x', 'GET http://HOST/metrics'],
  ...['GET /socket.io/?EIO=4&transport=websocket&sid=__proto__', 'POST /socket.io/?EIO=4&transport=polling&sid=x'],
  ...[
    'GET /socket.io/?EIO=3&transport=polling',
    'GET /socket.io',
    'GET ?',
    'GET /metrics',
    `GET /${'x'.repeat(15_000)}`,
  ],
].map((line) => `${line} HTTP/1.1\r\nHost: HOST\r\n`);
const HEADERS = [
  ...['Host: \r\nHost: \r\n', 'Host: [\r\n', '\r\n'],
  ...[
    ...['Content-Length: -1', 'Transfer-Encoding: x', 'Expect: 100-continue', `X: ${'x'.repeat(70_000)}`],
    ...['websocket', 'x'].map((protocol) => `Connection: Upgrade\r\nUpgrade: ${protocol}`),
    ...['Bearer', `Bearer ${'x'.repeat(9000)}`, 'Basic \u00ff'].map((value) => `Authorization: ${value}`),
  ].map((header) => `Host: HOST\r\n${header}\r\n`),
].flatMap((headers) =>
  ['/', '//', '/metrics', '/observation', '/socket.io/'].map((path) => `GET ${path} HTTP/1.1\r\n${headers}`),
);

export const HOSTILE_REQUESTS = [...REQUESTS, ...HEADERS, 'GET', '\u0000\u0001\u0016\u0003', 'GET / HTTP/9.9\r\n'];

/**
 * Sends each request over its own connection.
 * @returns the first line of each response; empty if there is none
 */
export function sendRequests(port: number, requests: readonly string[]): Promise<string[]> {
  const send = async (request: string) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.on('data', (data) => {
      answer += data;
      socket.end();
    });
    socket.end(`${request.replaceAll('HOST', `127.0.0.1:${port}`)}\r\n`);
    await closed(socket);
    return answer.split('\r\n')[0] ?? '';
  };
  return Promise.all(requests.map(send));
}

/** @returns variants of a message as JSON: each part, at any depth, is left out or replaced by each hostile value */
export function mutants(valid: unknown): string[] {
  const variantsOf = (part: unknown): string[] => {
    if (typeof part !== 'object' || part === null) return VALUES;
    const isList = Array.isArray(part);
    const field = (key: string, text: string) => (isList ? text : `${JSON.stringify(key)}:${text}`);
    const whole = (texts: string[]) => (isList ? `[${texts.join()}]` : `{${texts.join()}}`);
    const fields = Object.entries(part).filter(([, value]) => value !== undefined);
    const texts = fields.map(([key, value]) => field(key, JSON.stringify(value)));
    const changed = fields.flatMap(([key, value], index) => [
      whole(texts.toSpliced(index, 1)),
      ...variantsOf(value).map((text) => whole(texts.with(index, field(key, text)))),
    ]);
    return [...VALUES, ...changed];
  };
  return variantsOf(valid);
}
