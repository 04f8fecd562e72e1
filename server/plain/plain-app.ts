/**
 * Server on `ws` without Socket.IO. A comparison with it shows the overhead of Socket.IO. It implements only the parts
 * of Engine.IO's and Socket.IO's protocols that the wire contract needs, and stores only the WebSocket and its room for
 * each connection.
 */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { type Logger, pino } from 'pino';
import type { WebSocket } from 'ws';
import { onlyOnce } from '../../protocol/base/only-once.ts';
import { resultWithin } from '../../protocol/base/within.ts';
import type { ServerConfig } from '../config.ts';
import { openControlPort } from '../control/control-port.ts';
import { createOwnFigures } from '../control/own-figures.ts';
import { bundledWsVersion, nodeFlags, socketIoDependencies } from '../control/versions.ts';
import { listenOnPort } from '../http-listener.ts';
import { tuningOptions } from '../tunings.ts';
import { PlainContract } from './plain-contract.ts';

/** Engine.IO's default. */
const MAX_PAYLOAD_BYTES = 1e6;

/** Packet types of Engine.IO. */
const OPEN = '0';
const PING = '2';
const MESSAGE = '4';

const STEP_MS = 100;

/** Creates the server without opening a port. It has no adapter, so broadcasts reach only members on this worker. */
export function createPlainApp(config: ServerConfig, log: Logger = pino({ level: config.logLevel })) {
  const { worker, pingIntervalMs, pingTimeoutMs } = config;
  const { WebSocketServer } = socketIoDependencies();
  const http = createServer((_request, response) => response.writeHead(404).end('This is a WebSocket server.\n'));
  const { perMessageDeflate } = tuningOptions(config.tunings);
  const wss = new WebSocketServer({ server: http, maxPayload: MAX_PAYLOAD_BYTES, perMessageDeflate });
  let accepted = 0;
  wss.on('connection', () => {
    accepted++;
  });
  const own = createOwnFigures(worker, {
    connections: () => wss.clients.size,
    accepted: () => accepted,
    rooms: () => contract.rooms.size,
  });
  const contract = new PlainContract(own);
  const opened: { close(): void | Promise<void> }[] = [own, { close: pingInTurn(wss.clients, pingIntervalMs) }];

  function onMessage(this: WebSocket, data: Buffer, isBinary: boolean): void {
    // Other packets are pongs or close packets.
    if (!isBinary && data[0] === MESSAGE.charCodeAt(0)) contract.receive(this, data.toString('utf8', 1));
  }
  function onClose(this: WebSocket): void {
    contract.forget(this);
  }
  wss.on('connection', (ws) => {
    ws.on('message', onMessage).on('close', onClose).on('error', ws.terminate);
    const sid = `${worker}-${randomBytes(15).toString('base64url')}`;
    const limits = { pingInterval: pingIntervalMs, pingTimeout: pingTimeoutMs, maxPayload: MAX_PAYLOAD_BYTES };
    ws.send(OPEN + JSON.stringify({ sid, upgrades: [], ...limits }));
  });

  async function start() {
    try {
      const control = await openControlPort({
        token: config.token,
        controlPort: config.controlPort,
        controlHost: config.controlHost,
        tls: undefined,
        own,
        profile: true,
        publish: (order) => contract.publish(order),
        members: async (room) => contract.members(room),
        servers: async () => 1,
        describe: () => describe(config),
      });
      opened.push(control);
      const ports = {
        port: await listenOnPort(http, config.port, config.host, 'WebSocket port'),
        controlPort: control.port,
      };
      log.info({ worker, ...ports, webSocketEngine: bundledWsVersion() }, 'plain WebSocket worker is up');
      return ports;
    } catch (error) {
      await close();
      throw error;
    }
  }

  const close = onlyOnce(async () => {
    const closed = new Promise<void>((resolve) => http.close(() => resolve()));
    wss.close();
    for (const ws of wss.clients) ws.close(1001);
    await resultWithin(closed, config.drainMs);
    for (const ws of wss.clients) ws.terminate();
    http.closeAllConnections();
    await closed;
    for (const owned of opened.reverse()) await owned.close();
  });

  return { start, close };
}

function describe({ pingIntervalMs, pingTimeoutMs, tunings }: ServerConfig) {
  const versions = {
    node: process.versions.node,
    socketIo: 'none',
    adapter: 'none',
    webSocketEngine: bundledWsVersion(),
  };
  const options = {
    transports: 'websocket',
    pingInterval: String(pingIntervalMs),
    pingTimeout: String(pingTimeoutMs),
    maxHttpBufferSize: String(MAX_PAYLOAD_BYTES),
    perMessageDeflate: JSON.stringify(tuningOptions(tunings).perMessageDeflate),
    nodeFlags: nodeFlags(process.execArgv, process.env.NODE_OPTIONS).join(' ') || 'none',
  };
  return { versions, server: { kind: 'plain' as const, tunings: {}, options } };
}

/**
 * Sends pings from a single timer, which visits all connections once per interval. It stores nothing per connection.
 * @param clients connections in order of arrival; a round includes clients that connect during it
 * @returns a function that stops the timer
 */
function pingInTurn(clients: Set<WebSocket>, intervalMs: number): () => void {
  const steps = Math.max(1, Math.floor(intervalMs / STEP_MS));
  let step = 0;
  let pinged = 0;
  let round = clients.values();
  const timer = setInterval(() => {
    step++;
    // Spreads the pings evenly over the interval. Socket.IO's timers do the same if clients connect at an even rate.
    while (pinged < (clients.size * step) / steps) {
      const { value: ws, done } = round.next();
      if (done) break;
      ws.send(PING);
      pinged++;
    }
    if (step < steps) return;
    step = 0;
    pinged = 0;
    round = clients.values();
  }, intervalMs / steps).unref();
  return () => clearInterval(timer);
}
