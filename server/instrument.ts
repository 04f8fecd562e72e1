/**
 * Adds the wire contract to a Socket.IO server: events of the main namespace and, on a separate port, the control
 * namespace, `/metrics` and `/healthz`. The bundled server uses the same code.
 */
import { Registry } from 'prom-client';
import type { Server } from 'socket.io';
import { z } from 'zod';
import { onlyOnce } from '../protocol/base/only-once.ts';
import { CapacityError } from '../protocol/codes/errors.ts';
import type { AnyServer } from './any-server.ts';
import { publishBroadcast, serveContract } from './contract/contract.ts';
import { RoomDepartures } from './contract/departures.ts';
import { answerMemberCounts, countRoomMembers, MeasuredRooms } from './contract/measured-rooms.ts';
import { openControlPort } from './control/control-port.ts';
import { countRooms } from './control/metrics.ts';
import { createOwnFigures } from './control/own-figures.ts';
import { describeServer, socketIoVersions, type TuningDescription } from './control/versions.ts';
import { limitPacketElements, MAX_PACKET_ELEMENTS } from './packet-bounds.ts';
import { defaultWorker, portSchema, roomsSchema, serverTlsSchema, tokenSchema, workerSchema } from './schemas.ts';

export interface InstrumentOptions {
  /**
   * Secret of at least 16 characters, which permits publishing and reading statistics. Without it, nothing is
   * instrumented.
   */
  token?: string | undefined;
  /**
   * Rooms that clients can join with `join_room`; also rooms whose names begin with such a name and a colon. `'any'`:
   * every room, only for a server without users.
   */
  rooms?: string[] | 'any' | undefined;
  /** Control port, as a number or a string. 0 chooses a free port. */
  controlPort?: number | string | undefined;
  /** Address for the control port. Neither your proxy nor the internet should reach it. */
  controlHost?: string | undefined;
  /** Private key and certificate in PEM format. They make the control port use HTTPS. */
  tls?: { key: string | Buffer; cert: string | Buffer } | undefined;
  /** Maximum number of arguments in a client's packet. A larger packet closes the connection. */
  maxArguments?: number | undefined;
  /** Whether a run may profile the process, to find functions that use memory or CPU. Node only. */
  profile?: boolean | undefined;
  /**
   * Name of this process in all reports: lower-case letters and digits. Default: host name and process id, such as
   * `web1p4711`.
   */
  worker?: string | undefined;
}

/** @internal omitted from the published types */
export const optionsSchema = z.strictObject({
  token: z.literal('').or(tokenSchema).optional(),
  rooms: roomsSchema.default(['capacity']),
  controlPort: portSchema.default(0),
  controlHost: z.string().min(1).default('127.0.0.1'),
  tls: serverTlsSchema.optional(),
  maxArguments: z.number().int().min(10).max(10_000).default(MAX_PACKET_ELEMENTS),
  profile: z.boolean().default(false),
  worker: workerSchema.default(defaultWorker),
} satisfies Record<keyof InstrumentOptions, z.ZodType>);

export interface Instrumentation {
  /** Control port; 0 without a token, because nothing is instrumented then. */
  controlPort: number;
  /** Registry of the metrics at `/metrics`. You can add your own metrics. */
  registry: Registry;
  /** Removes everything from the server and closes the control port. A second call does nothing. */
  close(): Promise<void>;
}

/**
 * @param io a Socket.IO server, attached to its HTTP server. Only rooms of its main namespace are measured. If the
 * server has its own handler for `join_room`, that handler decides; this package acknowledges only if the handler does
 * not.
 * @throws CapacityError CONFIG_INVALID, NOT_ATTACHED, PORT_UNAVAILABLE
 */
export async function instrument(
  // biome-ignore lint/suspicious/noExplicitAny: AnyServer, written out so that the published types are a single file
  io: Server<any, any, any, any>,
  options: InstrumentOptions = {},
): Promise<Instrumentation> {
  return instrumentServer(io, options);
}

/** @internal `instrument` for the bundled server, which passes its own description */
export async function instrumentServer(
  io: AnyServer,
  options: InstrumentOptions,
  included?: { tuned: TuningDescription; webSocketEngine: string; adapter: string; stream: string | undefined },
): Promise<Instrumentation> {
  const { token, rooms, controlPort, controlHost, tls, maxArguments, profile, worker } = parseOptions(options);
  if (!token) return { controlPort: 0, registry: new Registry(), close: async () => {} };
  if (!io.engine) {
    throw new CapacityError('NOT_ATTACHED', 'the Socket.IO server is not attached to an HTTP server yet');
  }
  const main = io.of('/');
  const departures = new RoomDepartures();
  let accepted = 0;
  const own = createOwnFigures(worker, {
    connections: () => io.engine.clientsCount,
    accepted: () => accepted,
    rooms: () => countRooms(io),
    namespaces: () => io._nsps.size,
  });
  const { metrics, guard } = own;
  const onAccepted = guard.wrap('connection', () => accepted++);
  const onHandshakeError = guard.wrap('connection', ({ message }: { message: string }) =>
    metrics.countHandshakeError(message),
  );
  io.engine.on('connection', onAccepted);
  io.engine.on('connection_error', onHandshakeError);
  const measuredRooms = rooms === 'any' ? undefined : new MeasuredRooms(main, rooms);
  const onRefused: Parameters<typeof limitPacketElements>[2] = (event, problem) => {
    guard.malformed(event);
    if (event === 'packet') metrics.countClosed('packet');
    guard.complain(`refused ${problem}`);
  };
  const undo = [
    limitPacketElements(io, maxArguments, onRefused),
    serveContract(main, own, measuredRooms),
    answerMemberCounts(main, guard),
    () => io.engine.off('connection_error', onHandshakeError),
    () => io.engine.off('connection', onAccepted),
    () => own.close(),
  ];

  try {
    const control = await openControlPort({
      token,
      controlPort,
      controlHost,
      tls,
      own,
      profile,
      publish: (order) => publishBroadcast(main, worker, order, departures),
      members: async (room) => (await countRoomMembers(main, room)).members,
      servers: () => main.adapter.serverCount(),
      describe: () => ({
        versions: socketIoVersions(io, included?.webSocketEngine, included?.adapter),
        server: describeServer(io, included?.tuned),
        stream: included?.stream,
      }),
    });
    const close = onlyOnce(async () => {
      for (const step of undo) step();
      await control.close();
    });
    return { controlPort: control.port, registry: metrics.registry, close };
  } catch (error) {
    for (const step of undo) step();
    throw error;
  }
}

function parseOptions(options: InstrumentOptions): z.output<typeof optionsSchema> {
  const parsed = optionsSchema.safeParse(options);
  if (parsed.success) return parsed.data;
  const message = `instrument(io, options): ${z.prettifyError(parsed.error)}`;
  throw new CapacityError('CONFIG_INVALID', message, 'correct the options');
}
