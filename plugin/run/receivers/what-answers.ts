/** Names the program at a target by its answer to an Engine.IO handshake, and what to set. The only place that judges it. */
import { STATUS_CODES } from 'node:http';
import { attempt } from '../../../protocol/base/attempt.ts';
import { printable } from '../../../protocol/base/printable.ts';
import { FAILURE_CODES } from '../../../protocol/codes/failure-codes.ts';
import { speaksTls } from '../../../protocol/wire/http-agent.ts';
import { ENGINE_IO_3, SOCKET_IO_2, wordsOf } from '../../fleet/client/failure.ts';
import { type Certificate, certificateProblem } from './certificate-problem.ts';
import { httpFix, NOT_SOCKETIO, SET_PATH } from './http-refusals.ts';

/** What a target did with one request. */
export interface Seen {
  /** The request was a GET of the polling transport, or one that asks for a WebSocket. */
  asked: 'polling' | 'websocket';
  /** URL of the target, without Engine.IO's path. */
  url: string;
  path: string;
  /** HTTP status; undefined if no answer came. */
  status?: number | undefined;
  /** HTTP headers. */
  location?: string | undefined;
  server?: string | string[] | undefined;
  retryAfter?: string | undefined;
  /** Beginning of the answer's body. */
  body?: string;
  /** What ended the request, where no answer came. */
  error?: unknown;
  /** That of the server, where an error is about it. */
  certificate?: Certificate;
  /** A TCP connection was made. */
  isAccepted?: boolean;
  /** A TLS handshake succeeded where an `http:` request got no answer. */
  hasTls?: boolean;
}

export interface Answer {
  found: string;
  fix: string;
  /** The server may be a Socket.IO server that wants something of its clients, such as a login. */
  isRefusal?: boolean;
  /** Nothing that a client sends can help. */
  isUnsupported?: boolean;
}

interface WireError {
  code?: string;
  message?: string;
  rawPacket?: Buffer;
  /** Of an error about its names. */
  cert?: Certificate;
}

const ENGINE = 'config.engines.socketio-capacity';
const LOGIN_PAGE = /\b(log|sign)[ -]?(in|on)\b/i;
const LOG_IN = 'log in first: an HTTP step in the flow before `connect`, or a cookie in `headers`';
const MAX_SAID = 200;
/** Characters of a header. */
const MAX_HEADER = 40;
const ORIGIN = `give it an origin that it accepts: ${ENGINE}: { headers: { Origin: "https://app.example.com" } }`;
const CHECKED = `send what it checks, such as an Origin, a cookie or a token: \`headers\` or \`query\` of ${ENGINE}`;
export const NGINX =
  'let the proxy pass the upgrade on; in nginx: proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";';

export const OLD_SERVER: Answer = {
  found: SOCKET_IO_2.message,
  fix: FAILURE_CODES[SOCKET_IO_2.cause]?.remedy ?? '',
  isUnsupported: true,
};
const TLS: Answer = { found: 'it speaks TLS', fix: 'correct the target: https://' };
const NO_TLS: Answer = { found: 'it speaks no TLS', fix: 'correct the target: http://' };
const HTTP2: Answer = {
  found: 'it speaks HTTP/2 only, and Socket.IO’s clients open WebSockets over HTTP/1.1',
  fix: 'let the proxy accept HTTP/1.1, too (ALPN http/1.1)',
};
const CERTIFICATE: Answer = {
  found: 'the server asks for a client certificate',
  fix: `name one that it trusts: ${ENGINE}: { tls: { cert: client.pem, key: client-key.pem } }`,
};

/** Words of OpenSSL's alerts, of Node's codes, and of answers that proxies give; the first match counts. */
const BY_WORDS: [RegExp, Answer][] = [
  [/ALPN|NO[_ ]APPLICATION[_ ]PROTOCOL/i, HTTP2],
  [/CERTIFICATE[_ ]REQUIRED|No required SSL certificate/i, CERTIFICATE],
  [
    /ALERT[_ ](UNKNOWN[_ ]CA|(BAD|UNSUPPORTED)[_ ]CERTIFICATE|CERTIFICATE[_ ])|SSL certificate error/i,
    { found: 'the server refuses the client certificate', fix: CERTIFICATE.fix },
  ],
  [
    /HANDSHAKE[_ ]FAILURE/i,
    {
      found: 'it ended the TLS handshake: it asks for a client certificate, or shares no cipher',
      fix: CERTIFICATE.fix,
    },
  ],
  [/HTTP request (was sent )?to (an )?HTTPS|plain HTTP to an SSL/i, TLS],
  [/WRONG[_ ]VERSION[_ ]NUMBER|PACKET[_ ]LENGTH[_ ]TOO[_ ]LONG/i, NO_TLS],
];
/** Codes of the system for a TCP connection that could not be made. */
const WITHOUT_CONNECTION: Record<string, (host: string, hostname: string) => Answer> = {
  ECONNREFUSED: () => ({ found: 'nothing listens there', fix: 'start your server, or correct the target' }),
  ENOTFOUND: (_, hostname) => ({ found: `the name ${hostname} has no address`, fix: "correct the target's host name" }),
  EAI_AGAIN: () => ({ found: 'the name server does not answer', fix: 'let this machine reach its DNS, or try again' }),
  EHOSTUNREACH: () => ({ found: 'that host does not answer', fix: 'start that host, or let this machine reach it' }),
  ENETUNREACH: () => ({
    found: 'this machine has no route to that network',
    fix: 'add a route or a VPN, or take an address of the other IP version',
  }),
  EADDRNOTAVAIL: () => ({
    found: 'no source address or port is free for it',
    fix: 'correct `localAddresses`; or wait until closed connections have left TIME_WAIT',
  }),
  EACCES: () => ({ found: 'this machine forbids it', fix: 'allow it in the firewall or sandbox of this machine' }),
  EPERM: () => ({ found: 'this machine forbids it', fix: 'allow it in the firewall or sandbox of this machine' }),
  EMFILE: () => ({ found: 'this process has no file descriptor left', fix: 'raise `ulimit -n`' }),
};

/** First bytes of an answer that is not HTTP/1.1: a TLS alert, an HTTP/2 frame of settings. */
const BY_BYTES: [at: number, byte: number, Answer][] = [
  [0, 0x15, TLS],
  [3, 0x04, HTTP2],
];

/** @param said text of an answer, or what was thrown @returns undefined if it says nothing about TLS or HTTP/2 */
export function answerBy(said: unknown): Answer | undefined {
  const { code = '', message = '', rawPacket } = (said ?? {}) as WireError;
  const text = typeof said === 'string' ? said : `${code} ${message}`;
  const byBytes = code.startsWith('HPE_') && BY_BYTES.find(([at, byte]) => rawPacket?.[at] === byte);
  return byBytes ? byBytes[2] : BY_WORDS.find(([words]) => words.test(text))?.[1];
}

/** Statuses of what has no Socket.IO there, or of a proxy that does not reach the server. */
const NOT_THERE = [404, 405, 406, 410, 426, 501, 502, 504, 505];

/** @returns whether the answer is the server's own refusal; all else is a target that is unreachable, or not Socket.IO */
export function isRefusal(status: number): boolean {
  return status >= 400 && status < 520 && !NOT_THERE.includes(status);
}

/** @returns undefined if it answers as an Engine.IO 4 server does */
export function recognize(seen: Seen): Answer | undefined {
  const { asked, status, server, retryAfter, body = '' } = seen;
  if (status === undefined) return withoutAnswer(seen);
  if (asked === 'websocket' ? status === 101 : status === 200 && /^0\{"sid"/.test(body)) return undefined;
  const by = [
    ...(retryAfter === undefined ? [] : [`, Retry-After: ${printable(retryAfter, MAX_HEADER)}`]),
    ...(server === undefined ? [] : [`, by ${printable(String(server), MAX_HEADER)}`]),
  ].join('');
  const answer = ofEngineIo(seen) ?? (status === 505 ? HTTP2 : undefined) ?? answerBy(body) ?? ofStatus(seen, status);
  return { ...answer, found: `${answer.found}${by}` };
}

function withoutAnswer({ url, path, error, certificate: seen, hasTls, isAccepted }: Seen): Answer {
  const { host, hostname } = new URL(url);
  const { code = '', message = '', rawPacket, cert } = (error ?? {}) as WireError;
  const known = hasTls ? TLS : answerBy(error);
  if (known) return known;
  const certificate = certificateProblem(code, hostname, cert ?? seen);
  if (certificate) return { ...certificate, found: `the certificate of ${host} is refused: ${certificate.found}` };
  const unreachable = WITHOUT_CONNECTION[code]?.(host, hostname);
  if (unreachable) return { found: `${code} at ${host}: ${unreachable.found}`, fix: unreachable.fix };
  if (code === 'ETIMEDOUT' && isAccepted) {
    const found = `${host} accepted the connection, but did not answer the request at ${path}`;
    return { found, fix: `${SET_PATH}; or ${NOT_SOCKETIO}` };
  }
  if (code === 'ETIMEDOUT') {
    const fix = `it is blocked, or a firewall drops the packets, or it is not an HTTP server: ${NOT_SOCKETIO}`;
    return { found: `no answer from ${host}`, fix };
  }
  if (code.startsWith('HPE_')) {
    const bytes = printable(rawPacket?.toString('latin1', 0, MAX_SAID) ?? message, MAX_SAID);
    return { found: `a program that does not speak HTTP answers at ${host}: ${bytes}`, fix: NOT_SOCKETIO };
  }
  return {
    found: `${host} closed the connection without an answer (${code || message})`,
    fix: `${SET_PATH}; or ${NOT_SOCKETIO}; if it closes connections that do not log in, the option \`clients\` names the scenario that the run’s own clients play`,
  };
}

/** Error codes of Engine.IO by the words that it sends where a WebSocket was asked for. */
const REFUSAL_CODES: Record<string, number> = { 'Transport unknown': 0, 'Bad request': 3, Forbidden: 4 };

/** Answers of Engine.IO servers that refuse the request, or speak another version. */
function ofEngineIo({ asked, status, body = '' }: Seen): Answer | undefined {
  if (ENGINE_IO_3.test(body)) return OLD_SERVER;
  const json = attempt(() => Object(JSON.parse(body)) as { code?: unknown });
  const words = printable(wordsOf(body), MAX_SAID);
  const code = json ? json.code : REFUSAL_CODES[words];
  const refused = (by: string, fix: string): Answer => ({
    found: `HTTP ${status}: ${words} (by ${by})`,
    fix: /origin/i.test(words) ? ORIGIN : `${CHECKED}; ${fix}`,
    isRefusal: true,
  });
  if (code === 4 && (status === 403 || status === 400)) {
    const reason = words === 'Forbidden' ? ', which gave no reason' : '';
    return refused(`its \`allowRequest\`${reason}`, 'or let its `allowRequest` accept this client');
  }
  if (status !== 400) return undefined;
  if (code === 3 && (asked === 'polling' || !json))
    return refused('a middleware of its Engine.IO, `io.engine.use`', "the server's log has the reason");
  if (asked === 'polling') return undefined;
  if (code === 3) {
    const found = 'the server got the request without its Upgrade header: a proxy in between has removed it';
    return { found, fix: NGINX };
  }
  if (code === 0) {
    const fix = 'add it to `transports` of the server, or measure with TRANSPORTS=polling';
    return { found: 'the server does not offer WebSocket', fix };
  }
  return undefined;
}

function ofStatus(seen: Seen, status: number): Answer {
  const { asked, path, body = '', location } = seen;
  const isPage = /^\s*</.test(body);
  const said = printable(wordsOf(body), MAX_SAID);
  const words = said === '' ? '' : `: ${said}`;
  const phrase = STATUS_CODES[status];
  const found = `HTTP ${status}${words || (phrase ? ` (${phrase})` : '')}`;
  const own = httpFix(status);
  if (status === 404 || status === 410) return { found: `HTTP ${status} at ${path}${words}`, fix: own ?? SET_PATH };
  if (status === 426) return { found: 'HTTP 426: a plain WebSocket server, not Socket.IO', fix: own ?? NOT_SOCKETIO };
  if (location !== undefined && status >= 300 && status < 400) return redirected(seen, status, location);
  if (isRefusal(status)) {
    const fix = /origin/i.test(said) ? ORIGIN : (own ?? 'see what it said, and the log of the server');
    // A server that refuses in words of its own got the request as it was.
    const isProxy = status === 400 && asked === 'websocket' && (said === '' || isPage);
    return { found, fix: isProxy ? NGINX : fix, isRefusal: true };
  }
  if (own !== undefined) return { found, fix: own };
  if (status < 300) {
    const what = isPage ? 'a web page' : /^\s*[{[]/.test(body) ? 'JSON' : 'a text';
    return {
      found: `HTTP ${status} at ${path} with ${what}, not Engine.IO’s handshake${words}`,
      fix: `${LOGIN_PAGE.test(said) ? `${LOG_IN}; or ` : ''}${SET_PATH}; or ${NOT_SOCKETIO}`,
    };
  }
  return { found, fix: asked === 'websocket' ? `see the log of the proxy; ${NGINX}` : 'see the log of the server' };
}

function redirected({ url, path }: Seen, status: number, location: string): Answer {
  const found = `HTTP ${status}: it redirects to ${printable(location, MAX_SAID)}`;
  const to = URL.canParse(location, `${url}${path}`) ? new URL(location, `${url}${path}`) : undefined;
  if (!to) return { found, fix: 'correct the target' };
  const isElsewhere = to.host !== new URL(url).host || speaksTls(to) !== speaksTls(url);
  const login = `if that is a login page, ${LOG_IN}`;
  if (isElsewhere) return { found, fix: `take it as the target: ${printable(to.origin, MAX_SAID)}; or, ${login}` };
  return { found, fix: `${SET_PATH}: ${printable(to.pathname, MAX_SAID)}; or, ${login}` };
}
