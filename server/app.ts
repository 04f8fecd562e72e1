/** The server under test: Socket.IO with the wire contract, as a worker of a deployment or on its own. */
import { type Logger, pino } from 'pino';
import type { Server } from 'socket.io';
import { onlyOnce } from '../protocol/base/only-once.ts';
import { within } from '../protocol/base/within.ts';
import { ADAPTERS } from './adapters/index.ts';
import type { ServerConfig } from './config.ts';
import { countAdapterErrors } from './control/metrics.ts';
import { instrumentServer } from './instrument.ts';
import { applyTunings, describeTunings, tuningOptions, tuningsInForce } from './tunings.ts';
import type { AttachedServer } from './websockets/attach.ts';
import { WEBSOCKETS } from './websockets/index.ts';

/** Creates the server without opening a port. @throws CapacityError NOT_INSTALLED */
export async function createApp(config: ServerConfig, log: Logger = pino({ level: config.logLevel })) {
  const tunings = tuningsInForce(config.tunings, config.websockets);
  const { recoverySeconds } = config;
  const options = {
    serveClient: false,
    transports: config.transports,
    pingInterval: config.pingIntervalMs,
    pingTimeout: config.pingTimeoutMs,
    ...(recoverySeconds > 0 && { connectionStateRecovery: { maxDisconnectionDuration: recoverySeconds * 1000 } }),
    ...tuningOptions(tunings),
  };
  const server = await WEBSOCKETS[config.websockets](options, config.modules);
  const { io } = server;
  nameSessions(io, config.worker);

  /** Resources to close, in reverse order. */
  const opened: { close(): void | Promise<void> }[] = [{ close: applyTunings(io, tunings) }];

  /**
   * Connects the adapter, then listens.
   * @throws CapacityError PORT_UNAVAILABLE, or the adapter's error; everything is closed by then
   */
  async function start() {
    try {
      const adapter = await ADAPTERS[config.adapter.name].connect(io, config.adapter.settings, log);
      opened.push(adapter);
      const options = {
        token: config.token,
        // This server has no users besides the run.
        rooms: 'any' as const,
        worker: config.worker,
        controlHost: config.controlHost,
        controlPort: config.controlPort,
        profile: true,
      };
      const control = await instrumentServer(io, options, {
        tuned: describeTunings(tunings),
        webSocketEngine: server.nameAndVersion,
        adapter: adapter.nameAndVersion,
        stream: adapter.stream,
      });
      opened.push(control);
      countAdapterErrors(control.registry, adapter.errors);
      const ports = { port: await server.listen(config.port, config.host), controlPort: control.controlPort };
      const chosen = { adapter: config.adapter.name, webSocketEngine: server.nameAndVersion, tunings };
      log.info({ worker: config.worker, ...ports, ...chosen }, 'worker is up');
      return ports;
    } catch (error) {
      await close();
      throw error;
    }
  }

  /**
   * Stops accepting connections, notifies the clients, waits up to `drainMs` for their connections to close, and
   * terminates the rest. Idempotent.
   */
  const close = onlyOnce(async () => {
    await drain(server, config.drainMs, log);
    for (const owned of opened.reverse()) await owned.close();
  });

  return { io, start, close };
}

/** Prefixes session ids with the worker's name. nginx routes by it: all requests of a polling session must reach the same worker. */
function nameSessions(io: Server, worker: string): void {
  const { engine } = io;
  const randomId = engine.generateId;
  engine.generateId = (request: Parameters<typeof randomId>[0]) => `${worker}-${randomId.call(engine, request)}`;
}

/** Closes the server, and after `drainMs` terminates the rest: a WebSocket without an answer to its close frame stays open for 30 s. */
async function drain(server: AttachedServer, drainMs: number, log: Logger): Promise<void> {
  const closed = server.close().then(() => true);
  if (!(await within(closed, drainMs))) {
    log.warn({ drainMs }, 'cutting the connections that did not close in time');
    server.cut();
  }
  await closed;
}
