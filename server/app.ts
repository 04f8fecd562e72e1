/** The server under test: Socket.IO with the wire contract, as a worker of a deployment or on its own. */
import { createServer, type Server as HttpServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type Logger, pino } from 'pino';
import { Server } from 'socket.io';
import { ADAPTERS } from './adapters/index.ts';
import type { ServerConfig } from './config.ts';
import { instrument } from './instrument.ts';
import { listen } from './listen.ts';
import { countAdapterErrors } from './metrics.ts';
import { applyTunings, tuningOptions } from './tunings.ts';

/**
 * How nginx reads the worker from an Engine.IO session id: `<worker>-<random>`. All requests of a session must reach the
 * worker that opened it, as polling takes several.
 */
export const SESSION_ID_PATTERN = /^(?<worker>[a-z0-9]+)-/;

export interface App {
  io: Server;
  /**
   * Connects the adapter, then listens.
   * @throws CapacityError PORT_TAKEN, LISTEN_FAILED, or of the adapter; everything is closed again then
   */
  start(): Promise<{ port: number; controlPort: number }>;
  /**
   * Takes no more connections, tells the clients, waits up to `drainMs` for theirs to close, and cuts what is left.
   * Idempotent.
   */
  close(): Promise<void>;
}

export function createApp(config: ServerConfig, log: Logger = pino({ level: config.logLevel })): App {
  const http = createServer((_request, response) => response.writeHead(404).end('this is a Socket.IO server\n'));
  const io = new Server(http, {
    serveClient: false,
    transports: config.transports,
    pingInterval: config.pingIntervalMs,
    pingTimeout: config.pingTimeoutMs,
    ...tuningOptions(config.tunings),
  });
  nameSessions(io, config.worker);
  applyTunings(io, config.tunings);

  /** What `start` has opened, newest last. */
  const opened: { close(): Promise<void> }[] = [];

  async function start() {
    try {
      const adapter = await ADAPTERS[config.adapter.name].connect(io, config.adapter.settings, log);
      opened.push(adapter);
      const { token, worker, controlHost } = config;
      const control = await instrument(io, { token, worker, controlHost, controlPort: config.controlPort });
      opened.push(control);
      countAdapterErrors(control.registry, adapter.errors);
      const port = await listen(http, config.port, config.host, 'Socket.IO port');
      log.info({ worker, port, controlPort: control.controlPort, adapter: config.adapter.name }, 'worker is up');
      return { port, controlPort: control.controlPort };
    } catch (error) {
      await close();
      throw error;
    }
  }

  let closing: Promise<void> | undefined;
  function close() {
    closing ??= shutDown();
    return closing;
  }
  async function shutDown() {
    await drain(io, http, config.drainMs, log);
    for (const owned of opened.reverse()) await owned.close();
  }

  return { io, start, close };
}

/** Session ids as `SESSION_ID_PATTERN` has them. */
function nameSessions(io: Server, worker: string): void {
  const { engine } = io;
  const randomId = engine.generateId;
  engine.generateId = (request: Parameters<typeof randomId>[0]) => `${worker}-${randomId.call(engine, request)}`;
}

/** A WebSocket whose client does not answer the close frame stays open for half a minute: hence the limit. */
async function drain(io: Server, http: HttpServer, drainMs: number, log: Logger): Promise<void> {
  // Engine.IO forgets its clients when it closes; their transports are asked for before.
  const connections = Object.values((io.engine as unknown as { clients: Record<string, EngineClient> }).clients);
  const timer = new AbortController();
  http.close();
  const closed = io.close();
  const late = delay(drainMs, 'late' as const, { signal: timer.signal }).catch(() => undefined);
  if ((await Promise.race([closed, late])) === 'late') {
    log.warn({ drainMs }, 'cutting the connections that did not close in time');
    for (const { transport } of connections) transport.socket?.terminate?.();
    http.closeAllConnections();
  }
  timer.abort();
  await closed;
}

/** The part of an Engine.IO client that has no public name: its WebSocket. */
interface EngineClient {
  transport: { socket?: { terminate?(): void } };
}
