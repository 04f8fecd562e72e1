/** Servers whose broadcasts do not reach every client exactly once. */
import { endingServer } from '../ending-server.ts';
import { startClusterServer } from '../plain-server.ts';
import { COUNTS_SAID, type Failure } from './failure.ts';

export const deliveries: Failure[] = [
  {
    symptom: 'messages reach only some of the clients',
    situation: 'two processes share a port without an adapter between them',
    report: 'socketio/socket.io-redis-adapter/issues/282',
    serve: async (t) => (await startClusterServer(t, 2)).url,
    options: COUNTS_SAID,
    ...{
      code: 'ADAPTER_MISSING',
      message: /^each message reaches only the process of its sender/,
      fix: /^give the 2 processes an adapter/,
    },
  },
  {
    symptom: 'each event comes twice',
    situation: 'the handler of the server emits twice',
    report: 'socketio/socket.io/issues/4004',
    serve: (t) =>
      endingServer(t, (io) =>
        io.on('connection', (socket) =>
          socket.on('say', (message) => {
            io.emit('said', message);
            io.emit('said', message);
          }),
        ),
      ),
    options: COUNTS_SAID,
    ...{
      code: 'COPIES_DUPLICATED',
      about: 'application',
      message: /^every copy of 4 broadcasts arrived twice at every connection: the server emits twice$/,
    },
  },
  {
    symptom: 'an event is sometimes not received',
    situation: 'the server leaves out the client that connected last',
    report: 'socketio/socket.io/issues/2849',
    serve: (t) =>
      endingServer(t, (io) =>
        io.on('connection', (socket) =>
          socket.on('say', (message) => {
            const last = [...io.sockets.sockets.keys()].at(-1);
            io.except(last ?? '').emit('said', message);
          }),
        ),
      ),
    options: COUNTS_SAID,
    ...{ code: 'COPIES_LOST', message: /./ },
  },
];
