/**
 * Gives a Socket.IO server the whole wire contract: the events of the main namespace, and on a separate port the
 * control namespace, `/metrics` and `/healthz`. Our own server uses it, too; there is no second implementation.
 */
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Registry } from 'prom-client';
import { Server } from 'socket.io';
import { z } from 'zod';
import { monotonicUs } from '../protocol/clock.ts';
import { CapacityError } from '../protocol/errors.ts';
import { thisHost } from '../protocol/host.ts';
import { BatchWindow } from './batch-window.ts';
import { publish, serveContract } from './contract.ts';
import { type ControlRequests, serveControl } from './control.ts';
import { describeServer, type Tuned } from './describe-server.ts';
import { serveHttp } from './http.ts';
import { listen } from './listen.ts';
import { MeasuredRooms } from './measured-rooms.ts';
import { answerMembers, countMembers } from './members.ts';
import { countRooms, createMetrics, currentValue } from './metrics.ts';
import { portSchema, roomsSchema, tlsSchema, tokenSchema, workerSchema } from './schemas.ts';
import { tokenCheck } from './token.ts';
import type { AnyServer } from './types.ts';
import { versionsOf } from './versions.ts';
import { CollectionCount, collectGarbage, EventLoopWindow, processStats } from './worker-stats.ts';

export interface InstrumentOptions {
  /** At least 16 characters. Everyone who has it can publish and read statistics. Without it, nothing is instrumented. */
  token?: string | undefined;
  /**
   * Rooms that clients can join by `join_room`; each name also stands for those that begin with it and a colon. Default
   * `['capacity']`. `'any'` protects nothing: for a server without users.
   */
  rooms?: string[] | 'any' | undefined;
  /** A number, or a string as in environment variables; 0, the default, chooses a free port. */
  controlPort?: number | string | undefined;
  /** Default 127.0.0.1. */
  controlHost?: string | undefined;
  /** Private key and certificate, as PEM: the control port then speaks HTTPS. */
  tls?: { key: string | Buffer; cert: string | Buffer } | undefined;
  /** This process's name in all reports: lower-case letters and digits. Default `p<pid>`. */
  worker?: string | undefined;
  /** Name and version of the WebSocket server, such as `eiows 11.1.1`; only the bundled `ws` is recognized. */
  webSocketEngine?: string | undefined;
}

/** @internal not among the types of the published packages */
export const optionsSchema = z.strictObject({
  token: z.literal('').or(tokenSchema).optional(),
  rooms: roomsSchema.default(['capacity']),
  controlPort: portSchema.default(0),
  controlHost: z.string().min(1).default('127.0.0.1'),
  tls: tlsSchema.optional(),
  worker: workerSchema.default(() => `p${process.pid}`),
  webSocketEngine: z.string().min(1).optional(),
} satisfies Record<keyof InstrumentOptions, z.ZodType>);

export interface Instrumentation {
  /** 0 if there is no token, and nothing is instrumented. */
  controlPort: number;
  /** What `/metrics` serves: add your own metrics here. */
  registry: Registry;
  /** Removes everything from the server and frees the control port. Idempotent. */
  close(): Promise<void>;
}

/**
 * @param io a Socket.IO server, attached to its HTTP server; rooms are those of its main namespace. Where it handles
 *   `join_room` itself, its handler decides who joins, and we only send the acknowledgement if it sends none.
 * @throws CapacityError CONFIG_INVALID, NOT_ATTACHED, PORT_TAKEN, LISTEN_FAILED
 */
export async function instrument(
  // biome-ignore lint/suspicious/noExplicitAny: AnyServer, written out so that the published types are a single file
  io: Server<any, any, any, any>,
  options: InstrumentOptions = {},
): Promise<Instrumentation> {
  return instrumentServer(io, options);
}

/**
 * @internal as `instrument`, for the included server
 * @param tuned how it describes itself
 */
export async function instrumentServer(
  io: AnyServer,
  options: InstrumentOptions,
  tuned?: Tuned,
): Promise<Instrumentation> {
  const { token, rooms, controlPort, controlHost, tls, worker, webSocketEngine } = parseOptions(options);
  if (!token) return { controlPort: 0, registry: new Registry(), close: async () => {} };
  if (!io.engine) {
    throw new CapacityError(
      'NOT_ATTACHED',
      'the Socket.IO server is not attached to an HTTP server yet',
      'call instrument(io) after `new Server(httpServer)`, `io.attach(httpServer)` or `io.listen(port)`',
    );
  }
  const http = tls ? createTlsServer(tls) : createServer();
  const port = await listen(http, controlPort, controlHost, 'control port');

  const main = io.of('/');
  const eventLoop = new EventLoopWindow();
  const collections = new CollectionCount();
  const batches = new BatchWindow();
  const metrics = createMetrics(io, worker, eventLoop);
  const onHandshakeError = ({ message }: { message: string }) => metrics.handshakeErrors.inc({ reason: message });
  io.engine.on('connection_error', onHandshakeError);
  const undo = [
    serveContract(main, worker, metrics, rooms === 'any' ? undefined : new MeasuredRooms(main, rooms), batches),
    answerMembers(main),
    () => void io.engine.off('connection_error', onHandshakeError),
    () => eventLoop.close(),
    () => collections.close(),
    () => batches.close(),
  ];

  const isToken = tokenCheck(token);
  const parts = { worker, registry: metrics.registry, isToken };
  http.on('request', (request, response) => void serveHttp(request, response, parts));
  const controlIo = new Server(http, { serveClient: false });
  const requests: ControlRequests = {
    broadcast: async (order) => {
      const sent = await publish(main, worker, order);
      metrics.broadcasts.inc();
      return sent;
    },
    members: async (room) => ({ worker, members: await countMembers(main, room) }),
    gc: () => ({ worker, ...collectGarbage() }),
    stats: async () => ({
      worker,
      host: thisHost(),
      ...processStats(),
      collections: collections.read(),
      connections: io.engine.clientsCount,
      rooms: countRooms(io),
      broadcasts: await currentValue(metrics.broadcasts),
      eventLoop: eventLoop.next(),
      versions: versionsOf(io, webSocketEngine),
      server: describeServer(io, tuned),
    }),
    batches: () => ({ worker, ...batches.next() }),
    time: () => ({ monotonicUs: monotonicUs() }),
  };
  serveControl(controlIo, isToken, requests, (event) => metrics.malformed.inc({ event: `control ${event}` }));

  let closing: Promise<void> | undefined;
  async function close(): Promise<void> {
    for (const step of undo) step();
    const closed = controlIo.close();
    http.closeAllConnections();
    await closed;
  }
  return { controlPort: port, registry: metrics.registry, close: () => (closing ??= close()) };
}

function parseOptions(options: InstrumentOptions): z.output<typeof optionsSchema> {
  const parsed = optionsSchema.safeParse(options);
  if (parsed.success) return parsed.data;
  throw new CapacityError(
    'CONFIG_INVALID',
    `instrument(io, options): ${z.prettifyError(parsed.error)}`,
    'correct the options',
  );
}
