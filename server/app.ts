/** The measured server: Socket.IO with the wire contract. It runs as a worker of a deployment, or alone. */
import { type Logger, pino } from 'pino';
import type { Server } from 'socket.io';
import { onlyOnce } from '../protocol/base/only-once.ts';
import { resultWithin } from '../protocol/base/within.ts';
import { ADAPTERS } from './adapters/index.ts';
import type { ServerConfig } from './config.ts';
import { countAdapterErrors } from './control/metrics.ts';
import { instrumentServer } from './instrument.ts';
import { applyTunings, describeTunings, tuningOptions, tuningsInForce } from './tunings.ts';
import type { AttachedServer } from './websockets/attach.ts';
import { WEBSOCKETS } from './websockets/index.ts';

/**
 * Creates the server without opening a port.
 * @throws CapacityError NOT_INSTALLED
 */
export async function createServerApp(config: ServerConfig, log: Logger = pino({ level: config.logLevel })) {
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

  /** Resources to close. They are closed in reverse order. */
  const opened: { close(): void | Promise<void> }[] = [{ close: applyTunings(io, tunings) }];

  /**
   * Connects the adapter, then listens.
   * @throws CapacityError PORT_UNAVAILABLE, or the error of the adapter; everything is closed by then
   */
  async function start() {
    try {
      const adapter = await ADAPTERS[config.adapter.name].connect(io, config.adapter.settings, log);
      opened.push(adapter);
      const options = {
        token: config.token,
        // The bundled server has no other users than the run, so every room is allowed.
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
   * Stops accepting connections, notifies the clients, and waits up to `drainMs` for their connections to close. Then
   * the remaining connections are terminated. A second call does nothing.
   */
  const close = onlyOnce(async () => {
    await drain(server, config.drainMs, log);
    for (const owned of opened.reverse()) await owned.close();
  });

  return { io, start, close };
}

/**
 * Prefixes session ids with the name of the worker. nginx uses the prefix for routing, because all requests of a
 * polling session must reach the same worker.
 */
function nameSessions(io: Server, worker: string): void {
  const { engine } = io;
  const randomId = engine.generateId;
  engine.generateId = (request: Parameters<typeof randomId>[0]) => `${worker}-${randomId.call(engine, request)}`;
}

/**
 * Closes the server, and terminates the remaining connections after `drainMs`. A WebSocket whose client does not reply
 * to the close frame would otherwise stay open for 30 s.
 */
async function drain(server: AttachedServer, drainMs: number, log: Logger): Promise<void> {
  const closed = server.close().then(() => true);
  if (!(await resultWithin(closed, drainMs))) {
    log.warn({ drainMs }, 'cutting the connections that did not close in time');
    server.cut();
  }
  await closed;
}
