/**
 * Tests servers that close the connection, or send nothing, between the handshake and the namespace. Every attempt
 * ends, and reports the behaviour of the server.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { execa } from 'execa';
import { type WebSocket, WebSocketServer } from 'ws';
import { ControlClients } from '../../../plugin/samplers/index.ts';
import { TOKEN } from '../../helpers/app.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { CLI } from '../../helpers/cli.ts';
import { connectionTo } from '../../helpers/connection.ts';
import { OPEN_PACKET } from '../../helpers/fake-wire.ts';
import { connectBare } from '../../helpers/own-clients.ts';
import { listen } from '../../helpers/raw-listen.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

const NEVER = new AbortController().signal;

/** @param onOpen called when the server has accepted a WebSocket */
async function startServer(t: TestContext, onOpen: (ws: WebSocket) => void): Promise<string> {
  const http = createServer((_request, response) => response.end(OPEN_PACKET));
  new WebSocketServer({ server: http }).on('connection', onOpen);
  return `http://127.0.0.1:${await listen(t, http)}`;
}

const afterConnect = (onConnect: (ws: WebSocket) => void) => (ws: WebSocket) => {
  ws.send(OPEN_PACKET);
  ws.once('message', () => onConnect(ws));
};

const ENDS: [fault: string, onOpen: (ws: WebSocket) => void, message: RegExp][] = [
  ['closes before its handshake', (ws) => ws.close(), /closed the connection before its handshake/],
  [
    'closes before the namespace',
    afterConnect((ws) => ws.close()),
    /answered the Engine\.IO handshake, then closed the WebSocket/,
  ],
  [
    'closes with a code and a reason',
    afterConnect((ws) => ws.close(1008, 'log in')),
    /closed the WebSocket \(code 1008: log in\)/,
  ],
  [
    'drops the connection',
    afterConnect((ws) => ws.terminate()),
    /answered the Engine\.IO handshake, then closed the WebSocket/,
  ],
  [
    'sends no Socket.IO packet',
    afterConnect((ws) => ws.send('4hello from my app')),
    /but sent "hello from my app", which is no Socket\.IO packet/,
  ],
  [
    'echoes packets',
    afterConnect((ws) => ws.send('40')),
    /answered Engine\.IO 4, but sent "0".*not a Socket\.IO server/,
  ],
  ['disconnects the client', afterConnect((ws) => ws.send('41')), /then disconnected the client from namespace \//],
  [
    'knows no such namespace',
    afterConnect((ws) => ws.send('44{"message":"Invalid namespace"}')),
    /the server has no namespace \/ \(Invalid namespace\)/,
  ],
  ['refuses the namespace', afterConnect((ws) => ws.send('44{"message":"no"}')), /the server refused it: no/],
];

for (const [fault, onOpen, message] of ENDS) {
  describe(`a server that ${fault}`, () => {
    it(`the run’s own client reports a server that ${fault}`, async (t) => {
      const url = await startServer(t, onOpen);
      await assert.rejects(connectBare(connectionTo(url), NEVER), { code: 'TARGET_UNREACHABLE', message });
    });

    it(`a control client stops connecting to a server that ${fault}`, async (t) => {
      const url = await startServer(t, onOpen);
      await assert.rejects(ControlClients.connect([url], TOKEN, { timeoutMs: 1000 }), {
        code: /SOURCE_UNREACHABLE|CONTROL_MISSING/,
      });
    });
  });
}

it('connecting fails if the server never opens the namespace, and the error reports the accepted upgrade', async (t) => {
  const url = await startServer(
    t,
    afterConnect(() => {}),
  );
  await assert.rejects(connectBare(connectionTo(url), NEVER), {
    message: /accepted the upgrade to WebSocket, but never answered the CONNECT of namespace \//,
    fix: /^see whether a middleware of the server never calls next\(\)/,
  });
});

it('connecting fails if the server closes the polling session, and the error reports the handshake', async (t) => {
  const http = createServer(({ url }, response) => response.end(url?.includes('sid=') ? '1' : OPEN_PACKET));
  const connection = { ...connectionTo(`http://127.0.0.1:${await listen(t, http)}`), transports: ['polling' as const] };
  await assert.rejects(connectBare(connection, NEVER), {
    message: /answered the Engine\.IO handshake, then closed the polling session/,
    fix: /see the log of the server/,
  });
});

it('a control client waits for a namespace no longer than its time-out', async (t) => {
  const url = await startServer(
    t,
    afterConnect(() => {}),
  );
  await assert.rejects(ControlClients.connect([url], TOKEN, { timeoutMs: 200 }), {
    message: /no answer within 200 ms/,
  });
});

describe('a middleware that closes WebSockets', () => {
  const start = (t: TestContext) =>
    startChat(t, (io) =>
      io.use((socket, next) => {
        if (socket.conn.transport.name === 'websocket') socket.conn.close();
        else next();
      }),
    );

  for (const command of ['doctor', 'init']) {
    it(`the command ${command} ends with a report and an exit code if a middleware closes WebSockets`, async (t) => {
      const { url } = await start(t);
      const args = command === 'init' ? ['init', '--url', url, '--out', 'capacity.yml'] : ['doctor', '--target', url];
      // Runs the command in its own process, because the server would keep it running in this process.
      const finished = await execa(process.execPath, [CLI, ...args], { cwd: tempFolder(t), reject: false, all: true });
      const { exitCode, all } = finished;
      assert.notEqual(exitCode, 13);
      assert.match(all, /answered the Engine\.IO handshake, then closed the WebSocket/);
      assert.match(all, /transports: \[polling, websocket\]/);
    });
  }
});
