/** What a server wants that ends a connection before it has said a word of HTTP/1.1, or of a WebSocket. */

const ENGINE = 'config.engines.socketio-capacity';
/** [found, fix] */
type Wanted = [found: string, fix: string];

const CERTIFICATE: Wanted = [
  'the server asks for a client certificate',
  `name one that it trusts: ${ENGINE}: { tls: { cert: client.pem, key: client-key.pem } }`,
];
/** Also for HTTP's status 505. */
export const HTTP2: Wanted = [
  'it speaks HTTP/2 only, and Socket.IO’s clients open WebSockets over HTTP/1.1',
  'let the proxy accept HTTP/1.1, too (ALPN http/1.1)',
];
const BAD_CERTIFICATE: Wanted = ['the server refuses the client certificate', CERTIFICATE[1]];

/** By the words of OpenSSL's alerts, of Node's codes, and of answers that proxies give; the first that fits. */
const BY_WORDS: [RegExp, Wanted][] = [
  [/ALPN|NO[_ ]APPLICATION[_ ]PROTOCOL/i, HTTP2],
  [/CERTIFICATE[_ ]REQUIRED|No required SSL certificate/i, CERTIFICATE],
  [/ALERT[_ ](UNKNOWN[_ ]CA|(BAD|UNSUPPORTED)[_ ]CERTIFICATE|CERTIFICATE[_ ])|SSL certificate error/i, BAD_CERTIFICATE],
  [
    /HANDSHAKE[_ ]FAILURE/i,
    ['it ended the TLS handshake: it asks for a client certificate, or shares no cipher', CERTIFICATE[1]],
  ],
  [/plain HTTP request was sent to HTTPS port/i, ['it speaks TLS', 'correct the target: https://']],
];
/** What a server speaks whose first bytes are not HTTP/1.1: an HTTP/2 frame of settings, a TLS alert. */
const BY_BYTES: [at: number, byte: number, Wanted][] = [
  [0, 0x15, ['it speaks TLS', 'correct the target: https://']],
  [3, 0x04, HTTP2],
];

/** @param said an answer, or what was thrown @returns undefined if it says nothing of the kind */
export function wantedBy(said: unknown): Wanted | undefined {
  const {
    code = '',
    message = '',
    rawPacket,
  } = (said ?? {}) as { code?: string; message?: string; rawPacket?: Buffer };
  const text = typeof said === 'string' ? said : `${code} ${message}`;
  const byBytes = code.startsWith('HPE_') && BY_BYTES.find(([at, byte]) => rawPacket?.[at] === byte);
  return byBytes ? byBytes[2] : BY_WORDS.find(([words]) => words.test(text))?.[1];
}
