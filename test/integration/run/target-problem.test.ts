/**
 * Tests messages about a target that is no Socket.IO server. They name the program that replied, and the setting to
 * change. The doctor reports the same.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { Server } from 'socket.io';
import * as msgpack from 'socket.io-msgpack-parser';
import { WebSocketServer } from 'ws';
import { checkUpgrades } from '../../../plugin/doctor/target/check-connect.ts';
import { requestHandshake } from '../../../plugin/run/receivers/request-handshake.ts';
import { targetProblem, tlsProblem } from '../../../plugin/run/receivers/target-problem.ts';
import type { CapacityError } from '../../../protocol/codes/errors.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { oldServer } from '../../helpers/ending-server.ts';
import { hookConfig } from '../../helpers/measurements.ts';
import { connectBare } from '../../helpers/own-clients.ts';
import { PEM } from '../../helpers/pem.ts';
import { type Cleaner, listen, rawServer, urlOf } from '../../helpers/raw-listen.ts';
import { freePort } from '../../helpers/redis.ts';

type Allow = (reason: string | undefined, isAllowed: boolean) => void;
type Start = (t: Cleaner) => Promise<string>;

const http =
  (answer: RequestListener): Start =>
  (t) =>
    urlOf(t, createServer(answer));
const answering = (status: number, body = '', headers = {}) =>
  http((_request, response) => response.writeHead(status, headers).end(body));
const raw =
  (reply?: string): Start =>
  (t) =>
    rawServer(t, (socket) => (reply === undefined ? socket.destroy() : socket.end(reply)));

const PAGE = '<html><title>My shop</title>';
const OLD_HANDSHAKE = '96:0{"sid":"abc","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":5000}2:40';

/** A target, the run's message about it, and the fix. */
const CASES: [what: string, start: Start, found: RegExp, fix: RegExp][] = [
  [
    'a closed port',
    async () => `http://127.0.0.1:${await freePort()}`,
    /ECONNREFUSED at 127\.0\.0\.1:\d+: nothing listens there$/,
    /^start your/,
  ],
  ['another path', answering(404, 'Cannot GET'), /HTTP 404 at \/socket\.io\/: Cannot GET/, /`path`.*--path/],
  ['a plain WebSocket', answering(426, 'Upgrade Required'), /426.*plain WebSocket.*not Socket\.IO/, /Socket\.IO 3/],
  ['a web page', answering(200, PAGE), /HTTP 200 .*web page.*My shop/, /`path`/],
  ['another JSON API', answering(200, '{"ok":true}'), /HTTP 200 .*JSON.*\{"ok":true\}/, /`path`/],
  [
    'a redirect to https',
    answering(308, '', { location: 'https://a.example/x' }),
    /308.*redirects/,
    /take it as the target: https:\/\/a\.example; or, if that is a login page, log in/,
  ],
  ['a redirect to a path', answering(302, '', { location: '/login' }), /302.*redirects to \/login/, /log in first/],
  [
    'a redirect to the path without its slash',
    answering(308, '', { location: '/socket.io?EIO=4' }),
    /308.*redirects/,
    /without the slash.*addTrailingSlash: false/,
  ],
  ['Socket.IO 2', answering(200, OLD_HANDSHAKE), /^Socket\.IO 2: not supported/, /^upgrade the server/],
  [
    'a middleware of Socket.IO 2',
    (t) => oldServer(t, { refusal: 'Authentication error' }),
    /^Socket\.IO 2: not supported/,
    /^upgrade the server/,
  ],
  [
    'a middleware of Socket.IO 2 without polling',
    (t) => oldServer(t, { refusal: 'Authentication error', isWebSocketOnly: true }),
    /^Socket\.IO 2: not supported/,
    /^upgrade the server/,
  ],
  ['a proxy without a server', answering(502), /502 Bad Gateway/, /workers behind/],
  ['an error of the server', answering(500, 'oops'), /HTTP 500: oops/, /log of the server/],
  [
    'a program that closes every connection',
    raw(),
    /closed the connection without an answer/,
    /^set the server's own path/,
  ],
  [
    'a server that ignores other paths',
    http(() => {}),
    /accepted the connection, but did not answer/,
    /^set the server's own path/,
  ],
  ['a login page', answering(200, '<title>Company Login</title>'), /Company Login/, /^log in first/],
  ['a program of another protocol', raw('SSH-2.0-OpenSSH_9\r\n'), /does not speak HTTP.*SSH-2\.0/, /host or port/],
  [
    'nginx that needs TLS',
    answering(400, 'The plain HTTP request was sent to HTTPS port'),
    /speaks TLS/,
    /https:\/\/$/,
  ],
];

const connectionOf = (target: string) => hookConfig({}, { target }).connection;

async function refusalBy(target: string): Promise<CapacityError> {
  const connecting = connectBare(connectionOf(target), new AbortController().signal);
  return connecting.then(
    () => assert.fail('it connected'),
    (error: CapacityError) => error,
  );
}

for (const [what, start, found, fix] of CASES) {
  test(`a run reports ${what} at its target, and the setting to change`, async (t) => {
    const target = await start(t);
    const error = await refusalBy(target);
    assert.equal(error.code, 'TARGET_UNREACHABLE');
    assert.match(error.message, found);
    assert.match(error.fix, fix);
    assert.doesNotMatch(error.fix, /stop it|stop that/);
  });
}

test('a run reports a mismatch of http and https, in both directions', async (t) => {
  const secure = await listen(
    t,
    createSecureServer(PEM, (_request, response) => response.end()),
  );
  const withoutTls = await refusalBy(`http://127.0.0.1:${secure}`);
  assert.match(`${withoutTls.message} ${withoutTls.fix}`, /speaks TLS.*https:\/\//);
  const plain = await answering(200)(t);
  const withTls = await refusalBy(plain.replace('http:', 'https:'));
  assert.match(`${withTls.message} ${withTls.fix}`, /speaks no TLS.*http:\/\//);
});

test('a run reports status, response text and Retry-After of a handshake refused for a missing login', async (t) => {
  for (const status of [401, 403, 426, 429, 500, 503]) {
    const body = status === 426 ? '{"message":"who are you?"}' : 'who are you?';
    const error = await refusalBy(await answering(status, body, { 'retry-after': '30' })(t));
    assert.equal(error.constructor.name, 'RefusedError');
    assert.match(error.message, new RegExp(`${status}.* who are you\\?, Retry-After: 30$`));
  }
});

test('a WebSocket that the server refuses with a message is quoted, with a fix for the cause', async (t) => {
  const page = '<title>Attention Required!</title><h1>Sorry, you have been blocked</h1>';
  const answers: [answer: string, body: string, message: RegExp, fix: RegExp][] = [
    ['403 Forbidden', page, /403 Forbidden, Attention Required!: Sorry, you have been blocked, although/, /address/],
    ['400 Bad Request', '{"code":5,"message":"Unsupported"}', /400 Bad Request, Unsupported, although/, /asks for/],
    ['426 Upgrade Required', '{"message":"too old"}', /426 Upgrade Required, too old, although/, /the version/],
  ];
  for (const [answer, body, message, fix] of answers) {
    const { url, http: server } = await startChat(t, () => {});
    server.removeAllListeners('upgrade').on('upgrade', (_request, socket) => {
      socket.end(`HTTP/1.1 ${answer}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    });
    const error = await refusalBy(url);
    assert.equal(error.constructor.name, 'RefusedError');
    assert.match(error.message, message);
    assert.match(error.fix, fix);
    assert.doesNotMatch(error.fix, /next\(\)/);
  }
});

test('a run reports a proxy that removes the Upgrade header, with the name of the header', async (t) => {
  const { url, http: server } = await startChat(t, () => {});
  // Removes the listener for upgrades. Node then handles the request like a request without that header.
  server.removeAllListeners('upgrade');
  const error = await refusalBy(url);
  assert.match(
    error.message,
    /answers Engine.IO’s handshake by polling: the server received the request without its Upgrade/,
  );
  assert.match(error.fix, /proxy_set_header Upgrade \$http_upgrade; proxy_set_header Connection "upgrade"/);
});

test('a server that closes the WebSocket after the first packet is reported with the option `parser`', async (t) => {
  const { url } = await startChat(t, () => {}, { parser: msgpack });
  const error = await refusalBy(url);
  assert.match(error.message, /closed the WebSocket/);
  assert.match(error.fix, /^if the server has another `parser`, such as socket\.io-msgpack-parser/);
});

test('a server that listens only on another address of this machine is reported with the target to set', async (t) => {
  for (const [host, shown] of [
    ['127.0.0.2', '127.0.0.2'],
    ['::1', '[::1]'],
  ] as const) {
    const server = createServer();
    t.after(() => server.close());
    const { port } = await new Promise<AddressInfo>((resolve) =>
      server.listen(0, host, () => resolve(server.address() as AddressInfo)),
    );
    const error = await refusalBy(`http://127.0.0.1:${port}`);
    assert.ok(error.message.endsWith(`nothing listens there, but a server listens on ${shown}:${port}`), error.message);
    assert.ok(error.fix?.startsWith(`correct the target: http://${shown}:${port};`), error.fix);
  }
});

test('a run reports the expiry date of a certificate, although Node’s error lacks it', async (t) => {
  const [cert, key] = ['expired', 'expired-key'].map((name) => readFileSync(`test/fixtures/tls/${name}.pem`));
  const port = await listen(t, createSecureServer({ cert, key }));
  const response = await requestHandshake({ ...connectionOf(`https://localhost:${port}`), tls: { ca: String(cert) } });
  assert.match(targetProblem(response)?.found ?? '', /it expired on 2025-02-01/);
});

test('clients of a run that fail together send only one request to find the reason', async (t) => {
  let polls = 0;
  const target = await http((request, response) => {
    polls += Number(request.headers.upgrade === undefined);
    response.writeHead(401).end('who are you?');
  })(t);
  const errors = await Promise.all(Array.from({ length: 5 }, () => refusalBy(target)));
  assert.deepEqual([new Set(errors.map(({ message }) => message)).size, polls], [1, 1]);
});

test('a run quotes a refused handshake, and reports which part of the server refused it', async (t) => {
  const allowing = (reason: string | undefined) => ({ allowRequest: (_: unknown, done: Allow) => done(reason, false) });
  for (const [setUp, options, message, fix] of [
    [
      () => {},
      allowing(undefined),
      /HTTP 403: Forbidden \(by its `allowRequest`, which gave no reason\)$/,
      /an Origin/,
    ],
    [() => {}, allowing('not on the list'), /HTTP 403: not on the list \(by its `allowRequest`\)$/, /`allowRequest`/],
    [() => {}, allowing('unknown origin'), /403: unknown origin/, /headers: \{ Origin/],
    [
      (io) => io.engine.use((_: unknown, __: unknown, next: (error: Error) => void) => next(new Error())),
      {},
      /Bad request \(by .*`io\.engine\.use`\)$/,
      /log/,
    ],
    [
      (io) => io.use((_, next) => next(new Error('no seat'))),
      {},
      /no seat \(in its answer to the CONNECT of namespace \/\)$/,
      /`auth`/,
    ],
  ] as [(io: Server) => void, object, RegExp, RegExp][]) {
    const { url } = await startChat(t, setUp, options);
    const error = await refusalBy(url);
    assert.equal(error.constructor.name, 'RefusedError');
    assert.match(error.message, message);
    assert.match(error.fix, fix);
  }
});

test('each cause of an unreachable target has a separate message and fix', () => {
  const codes = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'EMFILE'];
  const certificates = ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'ERR_TLS_CERT_ALTNAME_INVALID', 'CERT_REVOKED'];
  const chains = ['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'];
  const statuses = [400, 401, 402, 403, 404, 405, 407, 408, 410, 421, 425, 426, 429, 431, 451];
  const errors = [500, 501, 502, 503, 504, 505, 520];
  const outcomes = [
    ...[...codes, ...certificates, ...chains, 'ETIMEDOUT', 'ECONNRESET'].map((code) => ({ error: { code } })),
    { error: { code: 'ETIMEDOUT' }, isAccepted: true },
    ...[...statuses, ...errors, 302].map((status) => ({ status, location: status === 302 ? '/login' : undefined })),
  ];
  const answers = outcomes.map((outcome) =>
    targetProblem({ asked: 'polling', url: 'http://a', path: '/socket.io/', ...outcome }),
  );
  for (const key of ['found', 'fix'] as const) {
    const texts = answers.map((answer) => answer?.[key] ?? '');
    assert.deepEqual(texts, [...new Set(texts)], key);
    assert.ok(texts.every(Boolean), key);
  }
});

test('a run distinguishes a plain `ws` server from a Socket.IO server without WebSocket', async (t) => {
  const plain = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  t.after(() => plain.close());
  await once(plain, 'listening');
  const error = await refusalBy(`http://127.0.0.1:${(plain.address() as AddressInfo).port}`);
  assert.match(
    error.message,
    /: it answered HTTP 426: a plain WebSocket server, not Socket\.IO$/,
    'without waiting for a time-out',
  );
  const chat = await startChat(t, () => {}, { transports: ['polling'] });
  const polls = await refusalBy(chat.url);
  assert.match(`${polls.message} ${polls.fix}`, /offers no WebSocket \(`upgrades: \[\]`.*`transports: \[polling\]`/);
});

test('the doctor’s WebSocket check reports the same messages as a run', async (t) => {
  const target = await answering(404, 'no such route')(t);
  const addresses = [{ address: '127.0.0.1', family: 4 }];
  const clients = { areUsers: false } as never;
  const [found] = await checkUpgrades({ connection: connectionOf(target), addresses, clients, signal: t.signal });
  assert.match(found?.found ?? '', /^HTTP 404 at \/socket\.io\/: no such route/);
  assert.match(found?.fix ?? '', /--path/);
  const about = { asked: 'websocket', url: 'http://a', path: '/chat/' } as const;
  for (const [status, body, fix] of [
    [400, '{"code":3,"message":"Bad request"}', /proxy_set_header Upgrade \$http_upgrade/],
    [400, '{"code":0,"message":"Transport unknown"}', /TRANSPORTS=polling/],
    [502, '', /workers behind/],
    [403, 'Forbidden', /`headers`/],
    [400, 'Forbidden', /`allowRequest`/],
    [400, 'Transport unknown', /TRANSPORTS=polling/],
    [400, 'origin (none) is not allowed', /headers: \{ Origin/],
    [400, '', /proxy_set_header/],
    [505, '', /HTTP\/1\.1/],
  ] as const)
    assert.match(targetProblem({ ...about, status, body })?.fix ?? '', fix);
  assert.equal(targetProblem({ ...about, status: 101 }), undefined);
  assert.equal(tlsProblem(new Error('nothing of the kind')), undefined);
});
