/**
 * Server of the zoo. It implements the wire contract except for its habits. Its control port is written by hand, so
 * that it can report false figures. Its reported memory is a straight line, so that it causes no findings.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Server, type Socket } from 'socket.io';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { thisHost } from '../../../protocol/base/machine/this-host.ts';
import {
  type BroadcastEcho,
  type BroadcastMessage,
  type BroadcastSent,
  CONTRACT_EVENTS,
  type WorkerStats,
} from '../../../protocol/wire/events.ts';
import { textPayload } from '../../../server/contract/contract-payload.ts';
import { serveControl } from '../../../server/control/control.ts';
import { readResources } from '../../../server/control/control-port.ts';
import { HandlerGuard } from '../../../server/guard.ts';
import { workerStats } from '../fake-run.ts';
import { type Cleaner, urlOf } from '../raw-listen.ts';

/** Deviations of a server from the contract. `n` counts the connections of the load, from 1. */
export interface Habits {
  /** Called before any connection, including those of the run's own clients. */
  prepare?(io: Server): void;
  /** Resolves when the server should reply to the next connection. False refuses it. */
  admit?(n: number): Promise<unknown> | boolean | undefined;
  connected?(socket: Socket, n: number): void;
  /** Returns the worker that the acknowledgement of the join names. */
  workerOf?(n: number): string;
  /**
   * Sends the broadcast instead of the default, which is one copy to each member of the load. `others` have not joined
   * the room.
   */
  send?(message: BroadcastMessage, members: Socket[], others: Socket[]): void;
  /** Counts the members at the send. The send waits for the result. */
  count?(seq: number, members: () => number): Promise<number>;
  /** Number of a broadcast that is reported as sent but is not sent. */
  withholds?: number;
  /** Returns the time that is written into a broadcast and reported. */
  stamp?(nowUs: number): number;
  /** Falsifies the report that the server sends about a broadcast. */
  sent?(truth: BroadcastSent): BroadcastSent;
  /**
   * Acknowledges a batch instead of the default, which is a single immediate acknowledgement. `n` counts the batches of
   * the load, from 1.
   */
  batch?(ack: () => void, n: number, socket: Socket): void;
  stats?(truth: WorkerStats): WorkerStats;
  /** Called before a collection is confirmed. */
  gc?(): void;
  /** Returns the page of metrics for this number of clients. Undefined closes the connection. */
  metrics?(clients: number): string | undefined;
}

export type ZooServer = Awaited<ReturnType<typeof startZooServer>>;

export const WORKER = 'w0';
/**
 * Number of connections of the run itself before the virtual users: the probe, the compression test, and the reference
 * receiver.
 */
const OF_RUN = 3;
const BYTES = { base: 50_000_000, perConnection: 20_000 };
const IDLE_LOOP = { utilization: 0, delayP50Ms: 0, delayP99Ms: 0, delayMaxMs: 0 };

/** Starts the server. It is closed after the test. */
export async function startZooServer(t: Cleaner, habits: Habits = {}) {
  const http = createServer((request, response) => {
    if (request.url !== '/metrics') return;
    const text = habits.metrics?.(io.engine.clientsCount);
    if (text === undefined) request.socket.destroy();
    else response.end(text);
  });
  let handshakes = 0;
  const io = new Server(http, {
    serveClient: false,
    allowRequest: (_request: IncomingMessage, answer) => {
      const n = ++handshakes - OF_RUN;
      const admitted = Promise.resolve(n > 0 ? habits.admit?.(n) : true);
      void admitted.then((isAdmitted) => answer(null, isAdmitted !== false));
    },
  });
  habits.prepare?.(io);
  /** Connected sockets of the load, in the order of arrival. */
  const load: Socket[] = [];
  let connected = 0;
  let batches = 0;
  /** Number of batches that were already reported. */
  let reportedBatches = 0;
  let collections = 0;
  io.on('connection', (socket) => {
    const n = ++connected - OF_RUN;
    socket.on(CONTRACT_EVENTS.joinRoom, async ({ clientKey: room }: { clientKey: string }, ack) => {
      await socket.join(room);
      ack?.({ room, worker: habits.workerOf?.(n) ?? WORKER, members: membersOf(room).length });
    });
    socket.on(CONTRACT_EVENTS.broadcastEcho, ({ seq, sentAtUs }: BroadcastEcho, ack) =>
      ack?.({ seq, roundTripUs: monotonicUs() - sentAtUs }),
    );
    if (n <= 0) return;
    socket.on(CONTRACT_EVENTS.eventBatch, (_events: unknown, ack: () => void) => {
      batches++;
      if (habits.batch) habits.batch(ack, batches, socket);
      else ack();
    });
    load.push(socket);
    socket.on('disconnect', () => void load.splice(load.indexOf(socket), 1));
    habits.connected?.(socket, n);
  });
  const membersOf = (room: string) => [...io.sockets.sockets.values()].filter(({ rooms }) => rooms.has(room));

  const truth = (): WorkerStats => {
    const connections = io.engine.clientsCount;
    const bytes = BYTES.base + BYTES.perConnection * connections;
    return {
      ...workerStats(WORKER, connections),
      pid: process.pid,
      // Reports another container on the same machine with the same clock, so that the run reads memory from the
      // control port.
      host: { ...thisHost(), pidNamespace: 'zoo' },
      uptimeSeconds: process.uptime(),
      accepted: connected,
      collections,
      rssBytes: bytes,
      heapUsedBytes: bytes / 2,
      versions: { node: process.version, socketIo: '4', adapter: 'none', webSocketEngine: 'ws' },
    };
  };
  const publish = async ({ room, bytes, seq, atUs }: { room: string; bytes: number; seq: number; atUs?: number }) => {
    const counted = await habits.count?.(seq, () => membersOf(room).length);
    await delay(Math.max(0, ((atUs ?? 0) - monotonicUs()) / 1000));
    const sentAtUs = habits.stamp?.(monotonicUs()) ?? monotonicUs();
    const message: BroadcastMessage = { seq, sentAtUs, worker: WORKER, data: textPayload(bytes) };
    const members = membersOf(room);
    const [ofLoad, ofRun] = [
      members.filter((member) => load.includes(member)),
      members.filter((member) => !load.includes(member)),
    ];
    const {
      send = (_: BroadcastMessage, all: Socket[]) => sendTo(all, message),
      sent = (truth) => truth,
      withholds,
    }: Habits = ofLoad.length > 0 ? habits : {};
    if (seq !== withholds) {
      send(
        message,
        ofLoad,
        load.filter((member) => !ofLoad.includes(member)),
      );
      sendTo(ofRun, message);
    }
    return sent({ seq, sentAtUs, worker: WORKER, expected: counted ?? members.length });
  };

  const controlHttp = createServer();
  const controlIo = new Server(controlHttp, { serveClient: false });
  const requests = {
    broadcast: publish,
    members: (room: string) => ({ worker: WORKER, members: membersOf(room).length }),
    servers: () => ({ worker: WORKER, servers: 1 }),
    gc: () => {
      habits.gc?.();
      collections++;
      return { worker: WORKER, durationMs: 0 };
    },
    stats: () => habits.stats?.(truth()) ?? truth(),
    // Omits PSS, because a real PSS would contradict the invented RSS.
    resources: async () => ({ ...(await readResources(WORKER)), pssBytes: undefined }),
    batches: () => {
      const ownHandler = batches - reportedBatches;
      reportedBatches = batches;
      return { worker: WORKER, batches: 0, ownHandler, events: 0, handlerMs: null, eventLoop: IDLE_LOOP };
    },
    eventLoop: () => ({ worker: WORKER, seconds: [], delayP99Ms: [], delayMaxMs: [] }),
    profile: () => ({ worker: WORKER, failure: 'none' }),
    time: () => ({ monotonicUs: monotonicUs() }),
  };
  serveControl(controlIo, requests, new HandlerGuard({ malformed: () => {} }));
  const [url, controlUrl] = [await urlOf(t, http), await urlOf(t, controlHttp)];
  t.after(() => void Promise.all([io.close(), controlIo.close()]));
  return { url, controlUrl, load };
}

export function sendTo(members: Socket[], message: unknown): void {
  for (const member of members) member.emit(CONTRACT_EVENTS.broadcast, message);
}
