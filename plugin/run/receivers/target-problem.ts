/** Finds out what is wrong with a target from its answer to an Engine.IO handshake request, and suggests a fix. */
import { STATUS_CODES } from 'node:http';
import { printableLine } from '../../../protocol/base/printable.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { FAILURE_CODES, UPGRADE_HEADERS_FIX } from '../../../protocol/codes/failure-codes.ts';
import { isTlsUrl } from '../../../protocol/wire/http-agent.ts';
import {
  ENGINE_IO_3_FRAMES,
  ENGINE_IO_3_HANDSHAKE,
  errorPageText,
  SOCKET_IO_2_FAILURE,
} from '../../fleet/client/failure.ts';
import { type CertificateFields, certificateProblem } from './certificate-problem.ts';
import { httpStatusFix, NOT_SOCKETIO_FIX, SET_PATH_FIX, WITHOUT_SLASH_FIX } from './http-refusals.ts';

/** A target's answer to one handshake request, or the error of the request. */
export interface HandshakeResult {
  asked: 'polling' | 'websocket';
  /** The target's URL, without the path of Engine.IO. */
  url: string;
  path: string;
  /** HTTP status of the answer; undefined without an answer. */
  status?: number | undefined;
  location?: string | undefined;
  server?: string | string[] | undefined;
  retryAfter?: string | undefined;
  /** Beginning of the body of the target's answer. */
  body?: string;
  error?: unknown;
  /** The server's certificate. Only set if the error concerns the certificate. */
  certificate?: CertificateFields;
  isAccepted?: boolean;
  /**
   * Other addresses of this machine at which a server listens on the target's port. Only set if the target refused the
   * TCP connection.
   */
  listensAt?: string[];
  /** Whether a TLS handshake succeeded after a request with `http:` got no answer. */
  hasTls?: boolean;
}

interface TargetProblem {
  found: string;
  fix: string;
  /** Whether the target may be a Socket.IO server that refuses this client, for example without a login. */
  isRefusal?: boolean;
  /** Whether the server's protocol version is not supported, so that no option of the client helps. */
  isUnsupported?: boolean;
  /** Whether the server redirects to the same path without its trailing slash. */
  isWithoutSlash?: boolean;
}

interface WireError {
  code?: string;
  message?: string;
  rawPacket?: Buffer;
  /** The server's certificate. Only set in errors about the certificate's host names. */
  cert?: CertificateFields;
}

const ENGINE = 'config.engines.socketio-capacity';
const LOGIN_PAGE = /\b(log|sign)[ -]?(in|on)\b/i;
const LOG_IN = 'log in first: an HTTP step in the flow before `connect`, or a cookie in `headers`';
const MAX_TEXT_LENGTH = 200;
const MAX_HEADER_LENGTH = 40;
const ORIGIN_FIX = `give it an origin that it accepts: ${ENGINE}: { headers: { Origin: "https://app.example.com" } }`;
const CREDENTIALS_FIX = `send what it checks, such as an Origin, a cookie or a token: \`headers\` or \`query\` of ${ENGINE}`;

export const SOCKET_IO_2_PROBLEM: TargetProblem = {
  found: SOCKET_IO_2_FAILURE.message,
  fix: FAILURE_CODES[SOCKET_IO_2_FAILURE.cause]?.remedy ?? '',
  isUnsupported: true,
};
const TLS: TargetProblem = { found: 'it speaks TLS', fix: 'correct the target: https://' };
const NO_TLS: TargetProblem = { found: 'it speaks no TLS', fix: 'correct the target: http://' };
const HTTP2: TargetProblem = {
  found: 'it speaks HTTP/2 only, and Socket.IO’s clients open WebSockets over HTTP/1.1',
  fix: 'let the proxy accept HTTP/1.1, too (ALPN http/1.1)',
};
const CERTIFICATE: TargetProblem = {
  found: 'the server asks for a client certificate',
  fix: `name one that it trusts: ${ENGINE}: { tls: { cert: client.pem, key: client-key.pem } }`,
};

/**
 * Patterns of OpenSSL alerts, Node's error codes and proxies' answers. The first pattern that matches determines the
 * problem.
 */
const BY_WORDS: [RegExp, TargetProblem][] = [
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
/** Problem of a target by the system error code of a failed TCP connect. */
const BY_ERRNO: Record<string, (host: string, hostname: string) => TargetProblem> = {
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

/** Loopback address to use for a server that listens on all IPv4 or all IPv6 addresses. */
const ANY_ADDRESS: Record<string, string> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' };

/** Bytes that show that an answer is not HTTP/1.1: a TLS alert, or an HTTP/2 SETTINGS frame. */
const BY_BYTES: [at: number, byte: number, TargetProblem][] = [
  [0, 0x15, TLS],
  [3, 0x04, HTTP2],
];

/**
 * Detects TLS or HTTP/2 at a target.
 * @param answer text of an answer, or an error
 * @returns undefined for neither
 */
export function tlsProblem(answer: unknown): TargetProblem | undefined {
  const { code = '', message = '', rawPacket } = (answer ?? {}) as WireError;
  const text = typeof answer === 'string' ? answer : `${code} ${message}`;
  const byBytes = code.startsWith('HPE_') && BY_BYTES.find(([at, byte]) => rawPacket?.[at] === byte);
  return byBytes ? byBytes[2] : BY_WORDS.find(([words]) => words.test(text))?.[1];
}

/** HTTP statuses that mean that Socket.IO is not at this address, or that a proxy cannot reach the server. */
const NOT_SOCKETIO_STATUSES = [404, 405, 406, 410, 501, 502, 504, 505];
/** Pattern of the body with which `ws` answers a request without an upgrade. */
const PLAIN_WEBSOCKET = /^(upgrade required)?$/i;

/**
 * Returns whether the HTTP status means that the Socket.IO server itself refused the client. If not, the target is
 * unreachable or is no Socket.IO server.
 */
export function isSocketIoRefusal(status: number): boolean {
  return status >= 400 && status < 520 && !NOT_SOCKETIO_STATUSES.includes(status);
}

/** Returns what is wrong with a target; undefined if it answered like an Engine.IO 4 server. */
export function targetProblem(handshake: HandshakeResult): TargetProblem | undefined {
  const { asked, status, server, retryAfter, body = '' } = handshake;
  if (status === undefined) return problemWithoutAnswer(handshake);
  if (ENGINE_IO_3_HANDSHAKE.test(body) || ENGINE_IO_3_FRAMES.test(body)) return SOCKET_IO_2_PROBLEM;
  if (asked === 'websocket' ? status === 101 : status === 200 && /^0\{"sid"/.test(body)) return undefined;
  const by = [
    ...(retryAfter === undefined ? [] : [`, Retry-After: ${printableLine(retryAfter, MAX_HEADER_LENGTH)}`]),
    ...(server === undefined ? [] : [`, by ${printableLine(String(server), MAX_HEADER_LENGTH)}`]),
  ].join('');
  const problem =
    engineIoProblem(handshake) ??
    (status === 505 ? HTTP2 : undefined) ??
    tlsProblem(body) ??
    statusProblem(handshake, status);
  return { ...problem, found: `${problem.found}${by}` };
}

function problemWithoutAnswer(handshake: HandshakeResult): TargetProblem {
  const { url, path, error, hasTls, isAccepted, listensAt = [] } = handshake;
  const { host, hostname, protocol, port } = new URL(url);
  const { code = '', message = '', rawPacket, cert } = (error ?? {}) as WireError;
  const tls = hasTls ? TLS : tlsProblem(error);
  if (tls) return tls;
  const certificate = certificateProblem(code, hostname, cert ?? handshake.certificate);
  if (certificate) return { ...certificate, found: `the certificate of ${host} is refused: ${certificate.found}` };
  const unreachable = BY_ERRNO[code]?.(host, hostname);
  const [other] = listensAt;
  if (other !== undefined) {
    const [there, theirs] = [`${other}:${port}`, `${protocol}//${ANY_ADDRESS[other] ?? other}:${port}`];
    const fix = `correct the target: ${theirs}; or let the server listen on all addresses`;
    return { found: `${code} at ${host}: nothing listens there, but a server listens on ${there}`, fix };
  }
  if (unreachable) return { found: `${code} at ${host}: ${unreachable.found}`, fix: unreachable.fix };
  if (code === 'ETIMEDOUT' && isAccepted) {
    const found = `${host} accepted the connection, but did not answer the request at ${path}`;
    return { found, fix: `${SET_PATH_FIX}; or ${NOT_SOCKETIO_FIX}` };
  }
  if (code === 'ETIMEDOUT') {
    const fix = `it is blocked, or a firewall drops the packets, or it is not an HTTP server: ${NOT_SOCKETIO_FIX}`;
    return { found: `no answer from ${host}`, fix };
  }
  if (code.startsWith('HPE_')) {
    const bytes = printableLine(rawPacket?.toString('latin1', 0, MAX_TEXT_LENGTH) ?? message, MAX_TEXT_LENGTH);
    return { found: `a program that does not speak HTTP answers at ${host}: ${bytes}`, fix: NOT_SOCKETIO_FIX };
  }
  return {
    found: `${host} closed the connection without an answer (${code || message})`,
    fix: `${SET_PATH_FIX}; or ${NOT_SOCKETIO_FIX}; if it closes connections that do not log in, the option \`clients\` names the scenario that the run’s own clients play`,
  };
}

/** Engine.IO's error codes, by the text in its answer to a WebSocket request. */
const REFUSAL_CODES: Record<string, number> = { 'Transport unknown': 0, 'Bad request': 3, Forbidden: 4 };

/** Returns what is wrong with an Engine.IO server that refuses the request or uses another protocol version. */
function engineIoProblem({ asked, status, body = '' }: HandshakeResult): TargetProblem | undefined {
  const json = tryOrUndefined(() => Object(JSON.parse(body)) as { code?: unknown });
  const words = printableLine(errorPageText(body), MAX_TEXT_LENGTH);
  const code = json ? json.code : REFUSAL_CODES[words];
  const refused = (by: string, fix: string): TargetProblem => ({
    found: `HTTP ${status}: ${words} (by ${by})`,
    fix: /origin/i.test(words) ? ORIGIN_FIX : `${CREDENTIALS_FIX}; ${fix}`,
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
    const found = 'the server received the request without its Upgrade header: a proxy in between removed it';
    return { found, fix: UPGRADE_HEADERS_FIX };
  }
  if (code === 0) {
    const fix = 'add it to `transports` of the server, or measure with TRANSPORTS=polling';
    return { found: 'the server does not offer WebSocket', fix };
  }
  return undefined;
}

function statusProblem(handshake: HandshakeResult, status: number): TargetProblem {
  const { asked, path, body = '', location } = handshake;
  const isPage = /^\s*</.test(body);
  const words = printableLine(errorPageText(body), MAX_TEXT_LENGTH);
  const suffix = words === '' ? '' : `: ${words}`;
  const phrase = STATUS_CODES[status];
  const found = `HTTP ${status}${suffix || (phrase ? ` (${phrase})` : '')}`;
  const statusFix = httpStatusFix(status);
  if (status === 404 || status === 410)
    return { found: `HTTP ${status} at ${path}${suffix}`, fix: statusFix ?? SET_PATH_FIX };
  if (status === 426 && PLAIN_WEBSOCKET.test(words))
    return {
      found: 'it answered HTTP 426: a plain WebSocket server, not Socket.IO',
      fix: `if Socket.IO has another path there, ${SET_PATH_FIX}; or ${NOT_SOCKETIO_FIX}`,
    };
  if (location !== undefined && status >= 300 && status < 400) return redirectProblem(handshake, status, location);
  if (isSocketIoRefusal(status)) {
    const fix = /origin/i.test(words) ? ORIGIN_FIX : (statusFix ?? 'see its answer, and the log of the server');
    // The answer in plain text comes from the server itself, so the Upgrade header reached the server.
    const isProxy = status === 400 && asked === 'websocket' && (words === '' || isPage);
    return isProxy ? { found, fix: UPGRADE_HEADERS_FIX } : { found, fix, isRefusal: true };
  }
  if (statusFix !== undefined) return { found, fix: statusFix };
  if (status < 300) {
    const what = isPage ? 'a web page' : /^\s*[{[]/.test(body) ? 'JSON' : 'a text';
    return {
      found: `HTTP ${status} at ${path} with ${what}, not Engine.IO’s handshake${suffix}`,
      fix: `${LOGIN_PAGE.test(words) ? `${LOG_IN}; or ` : ''}${SET_PATH_FIX}; or ${NOT_SOCKETIO_FIX}`,
    };
  }
  return {
    found,
    fix: asked === 'websocket' ? `see the log of the proxy; ${UPGRADE_HEADERS_FIX}` : 'see the log of the server',
  };
}

function redirectProblem({ url, path }: HandshakeResult, status: number, location: string): TargetProblem {
  const found = `HTTP ${status}: it redirects to ${printableLine(location, MAX_TEXT_LENGTH)}`;
  const to = URL.canParse(location, `${url}${path}`) ? new URL(location, `${url}${path}`) : undefined;
  if (!to) return { found, fix: 'correct the target' };
  const isElsewhere = to.host !== new URL(url).host || isTlsUrl(to) !== isTlsUrl(url);
  const login = `if that is a login page, ${LOG_IN}`;
  if (isElsewhere)
    return { found, fix: `take it as the target: ${printableLine(to.origin, MAX_TEXT_LENGTH)}; or, ${login}` };
  if (`${to.pathname}/` === path) return { found, fix: WITHOUT_SLASH_FIX, isWithoutSlash: true };
  return { found, fix: `${SET_PATH_FIX}: ${printableLine(to.pathname, MAX_TEXT_LENGTH)}; or, ${login}` };
}
