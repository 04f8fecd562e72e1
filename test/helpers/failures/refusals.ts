/** Servers and proxies that refuse every connection. */
import type { Server } from 'socket.io';
import { answeringServer, endingServer, oldServer } from '../ending-server.ts';
import { startClusterServer } from '../plain-server.ts';
import { startNginx } from '../proxies.ts';
import type { Cleaner } from '../raw-listen.ts';
import { freePort } from '../redis.ts';
import type { Failure } from './failure.ts';

const PAGE = '<!DOCTYPE html><html><head><title>Blocked by Acme WAF</title></head><body><h1>No</h1></body></html>';

const serving = (serve: (io: Server) => void) => (t: Cleaner) => endingServer(t, serve);
const nothing = () => {};

export const refusals: Failure[] = [
  {
    symptom: '`xhr poll error`, `websocket error` with status 403',
    situation: 'a firewall answers every handshake with a page of its own',
    report: 'artilleryio/artillery/issues/748',
    serve: (t) => answeringServer(t, 403, PAGE),
    ...{
      code: 'CONNECTIONS_FAILED',
      message: /^the server answered 403 [^,]*, Blocked by Acme WAF: No: 10 of 10/,
    },
  },
  {
    symptom: '`connect_error` for every user: `authentication error`',
    situation: 'the middleware of the server (`io.use`) calls `next` with an error',
    report: 'socketio/socket.io/issues/1720',
    serve: serving((io) => io.use((_, next) => next(new Error('authentication error')))),
    ...{
      code: 'CONNECTIONS_FAILED',
      message: /^the server refused: authentication error: 10 of 10 failed/,
    },
  },
  {
    symptom: '`xhr poll error`, status code 403, only outside a browser',
    situation: 'the server’s `allowRequest` refuses requests without the right `Origin`',
    report: 'socketio/socket.io-client/issues/1534',
    serve: (t) => endingServer(t, nothing, { allowRequest: (_, done) => done('origin not allowed', false) }),
    ...{
      code: 'CONNECTIONS_FAILED',
      message: /^the server answered 40\d [^,]*, origin not allowed: 10 of 10/,
    },
  },
  {
    symptom: '`xhr poll error` above a number of connections per second',
    situation: 'a rate limit answers 429 with a sentence',
    report: 'socketio/socket.io/issues/3304',
    serve: (t) => answeringServer(t, 429, 'slow down: 5 connects per minute', 'text/plain'),
    ...{
      code: 'CONNECTIONS_FAILED',
      message: /^the server answered 429 [^,]*, slow down: 5 connects per minute: 10 of 10/,
    },
  },
  {
    symptom: '`Session ID unknown`, HTTP 400',
    situation: 'two processes share a port without sticky sessions, and clients begin with polling',
    report: 'socketio/socket.io-sticky/issues/2',
    serve: async (t) => (await startClusterServer(t, 2)).url,
    engineOptions: { transports: ['polling'] },
    ...{ code: 'TARGET_UNREACHABLE', message: /400 Bad Request, Session ID unknown$/, fix: /sticky sessions/ },
  },
  {
    symptom: '`502 Bad Gateway`',
    situation: 'nginx runs, and nothing listens on the port of its upstream',
    report: 'miguelgrinberg/python-socketio/issues/362',
    serve: async (t) => `http://127.0.0.1:${(await startNginx(t, await freePort(), '')).port}`,
    ...{ code: 'TARGET_UNREACHABLE', message: /502 Bad Gateway/, fix: /workers behind/ },
  },
  {
    symptom: '`It seems you are trying to reach a Socket.IO server in v2.x with a v3.x client`',
    situation: 'the server is Socket.IO 2',
    report: 'socketio/socket.io-client/issues/1628',
    serve: (t) => oldServer(t),
    ...{ code: 'TARGET_UNREACHABLE', message: /^Socket\.IO 2: not supported/, fix: /^upgrade the server/ },
  },
  {
    symptom: '`Invalid namespace`',
    situation: 'the server has not created the namespace of the flow',
    report: 'socketio/socket.io-client/issues/1003',
    serve: serving(nothing),
    flow: [{ connect: { namespace: '/activities' } }, { hold: true }],
    ...{
      code: 'TARGET_UNREACHABLE',
      message: /no namespace \/activities \(Invalid namespace\)$/,
      fix: /^correct the namespace/,
    },
  },
];
