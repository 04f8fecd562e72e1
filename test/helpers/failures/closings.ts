/** Servers and proxies that close open connections. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Server } from 'socket.io';
import { startChat } from '../chat-server.ts';
import { endingServer } from '../ending-server.ts';
import { startEndingServer } from '../plain-server.ts';
import { startNginx, UPGRADE } from '../proxies.ts';
import type { Cleaner } from '../raw-listen.ts';
import { type Failure, USERS } from './failure.ts';

const serving = (serve: (io: Server) => void) => (t: Cleaner) => endingServer(t, serve);

const TOO_LARGE: Omit<Failure, 'symptom'> = {
  situation: 'the flow emits 1.2 MB to a server with the default `maxHttpBufferSize`',
  report: 'socketio/socket.io/issues/3946',
  serve: serving(() => {}),
  flow: [{ connect: {} }, { emit: ['blob', 'x'.repeat(1_200_000)] }, { hold: true }],
  code: 'MESSAGES_TOO_LARGE',
  message: /^10 of 10 were closed .*the flow sends 1,200,0\d\d bytes, the server takes 1,000,000/,
  fix: /maxHttpBufferSize/,
};

export const closings: Failure[] = [
  { ...TOO_LARGE, symptom: '`transport close`, or WebSocket close code 1009, after a large message' },
  {
    ...{ ...TOO_LARGE, symptom: 'the same with the official client', likeAnother: true },
    engineOptions: { client: 'official' },
  },
  {
    ...{ ...TOO_LARGE, symptom: 'the same by polling', likeAnother: true },
    engineOptions: { transports: ['polling'] },
  },
  {
    symptom: '`io server disconnect` some time after the connect',
    situation: 'the application sends `kick` and calls `disconnect()` after a second',
    report: 'socketio/socket.io/issues/3237',
    serve: serving((io) =>
      io.on('connection', (socket) => {
        setTimeout(() => {
          socket.emit('kick', 'Last heartbeat was 1 s ago');
          socket.disconnect(true);
        }, 1000);
      }),
    ),
    ...{ code: 'CONNECTIONS_DROPPED', about: 'application' },
    message:
      /^the application itself closed 10 of 10 connections, after (0\.\d+ to )?1\.\d( to 1\.\d)? s; the last event before: kick "Last heartbeat was 1 s ago"/,
  },
  {
    symptom: '`io server disconnect` after a number of messages',
    situation: 'the application disconnects clients that send more than 20 messages',
    report: 'socketio/socket.io/issues/3101',
    serve: serving((io) =>
      io.on('connection', (socket) => {
        let count = 0;
        socket.on('say', () => {
          if (++count > 20) socket.disconnect(true);
        });
      }),
    ),
    // Users begin to send at different times. If all connections closed at the same age, that could be the reason, too.
    flow: [
      { connect: {} },
      { think: 1.5, jitter: '1.5s' },
      { loop: [{ emit: ['say', 1] }, { think: 0.05 }], count: 30 },
      { hold: true },
    ],
    ...{ code: 'CONNECTIONS_DROPPED', about: 'application', fix: /^send fewer messages in the flow/ },
    message: /^the application itself closed 10 of 10 connections, after 21 messages each/,
  },
  {
    symptom: '`transport close` after the same time, when nothing is sent',
    situation: 'nginx closes connections after `proxy_read_timeout 1s`, and the server pings every 25 s',
    report: 'socketio/socket.io/issues/3025',
    serve: async (t) => {
      const { port } = await startChat(t);
      const proxy = await startNginx(t, port, `${UPGRADE} proxy_read_timeout 1s;`);
      return `http://127.0.0.1:${proxy.port}`;
    },
    ...{ code: 'CONNECTIONS_DROPPED', message: /idle time-out of 1(\.\d)? s/, fix: /proxy_read_timeout/ },
  },
  {
    symptom: '`ping timeout` of all clients at once',
    situation: 'a handler blocks the event loop for 3 s, and clients wait 0.6 s for a ping',
    report: 'socketio/socket.io/issues/2769',
    serve: async (t) => {
      const { url } = await startEndingServer(t, { blocksAt: USERS });
      return url;
    },
    options: { hold: 4 },
    ...{ code: 'CONNECTIONS_DROPPED', message: /ping/ },
  },
  {
    symptom: '`transport close` of all clients, then `ECONNREFUSED`',
    situation: 'the process of the server ends at its eighth client',
    report: 'socketio/socket.io-client/issues/206',
    serve: async (t) => (await startEndingServer(t, { most: 8 })).url,
    ...{ code: 'PROCESS_ENDED', message: /^process \d+ \(.*ending-server.*\) ended at [\d.]+ s with \d+ connections$/ },
  },
  {
    symptom: '`EMFILE: too many open files`',
    situation: 'each connection opens files, until the process reaches its limit of open files and crashes',
    report: 'socketio/socket.io/issues/1079',
    serve: async (t) => (await startEndingServer(t, { openFiles: 104 })).url,
    ...{
      code: 'PROCESS_ENDED',
      message: /; it had \d+ of 104 open files, at least \d+ of which were no connections$/,
      fix: /which files the server opens and does not close/,
    },
  },
  {
    symptom: 'WebSocket close code 1012',
    situation: 'a deployment closes the connections with the words “deploy of v2”',
    report: 'socketio/socket.io/issues/3025',
    serve: serving((io) =>
      io.on('connection', async ({ conn }) => {
        const { socket } = conn.transport as unknown as { socket: { close(code: number, words: string): void } };
        await delay(500);
        socket.close(1012, 'deploy of v2');
      }),
    ),
    ...{
      code: 'CONNECTIONS_DROPPED',
      message: /10 with 1012 \(the server restarts: "deploy of v2"\)/,
      fix: /deployment/,
    },
  },
];
