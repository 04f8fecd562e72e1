/**
 * A server of the zoo: it keeps the wire contract except for its habits. Its control is made by hand, so that it can lie;
 * its memory is a straight line, so that no reason of a verdict comes from there.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Server, type Socket } from 'socket.io';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { thisHost } from '../../../protocol/base/machine/this-host.ts';
import {
  type Broadcast,
  type BroadcastEcho,
  type BroadcastSent,
  EVENTS,
  type WorkerStats,
} from '../../../protocol/wire/events.ts';
import { payload } from '../../../server/contract/contract-payload.ts';
import { serveControl } from '../../../server/control/control.ts';
import { readResources } from '../../../server/control/worker-resources.ts';
import { Guard } from '../../../server/guard.ts';
import { workerStats } from '../fake-run.ts';
import { type Cleaner, urlOf } from '../raw-listen.ts';

/** What a server does other than the contract says. `n` counts the connections of the load, from 1. */
export interface Habits {
  /** Before anything connects, the run's own clients included. */
  prepare?(io: Server): void;
  /** Settles when the next connection is answered: false refuses it. */
  admit?(n: number): Promise<unknown> | boolean | undefined;
  connected?(socket: Socket, n: number): void;
  /** The worker that its join names. */
  workerOf?(n: number): string;
  /** In place of one copy for each member that is of the load. `others` have not joined the room. */
  send?(message: Broadcast, members: Socket[], others: Socket[]): void;
  /** In place of counting the members when it sends, which waits for this. */
  count?(seq: number, members: () => number): Promise<number>;
  /** A broadcast that is reported as sent, and is not. */
  withholds?: number;
  /** What is written into a broadcast, and reported, as its time. */
  stamp?(nowUs: number): number;
  /** What is reported of a broadcast. */
  sent?(truth: BroadcastSent): BroadcastSent;
  /** In place of one acknowledgement at once. `n` counts the batches of the load, from 1. */
  batch?(ack: () => void, n: number, socket: Socket): void;
  stats?(truth: WorkerStats): WorkerStats;
  /** Before a collection is confirmed. */
  gc?(): void;
  /** Its page of metrics, with clients of the load; undefined: it ends the connection. */
  metrics?(clients: number): string | undefined;
}

export type ZooServer = Awaited<ReturnType<typeof startZooServer>>;

export const WORKER = 'w0';
/** Before any virtual user, the run connects its probe, asks for compression, and connects its reference receiver. */
const OF_RUN = 3;
const BYTES = { base: 50_000_000, perConnection: 20_000 };
const IDLE_LOOP = { utilization: 0, delayP50Ms: 0, delayP99Ms: 0, delayMaxMs: 0 };

/** Ends with the test. */
export async function startZooServer(t: Cleaner, habits: Habits = {}) {
  const http = createServer((request, response) => {
    if (request.url !== '/metrics') return;
    const text = habits.metrics?.(io.engine.clientsCount);
    if (text === undefined) request.socket.destroy();
    else response.end(text);
  });
  let asked = 0;
  const io = new Server(http, {
    serveClient: false,
    allowRequest: (_request: IncomingMessage, answer) => {
      const n = ++asked - OF_RUN;
      const admitted = Promise.resolve(n > 0 ? habits.admit?.(n) : true);
      void admitted.then((is) => answer(null, is !== false));
    },
  });
  habits.prepare?.(io);
  /** In the order of their arrival, while they last. */
  const load: Socket[] = [];
  let connected = 0;
  let batches = 0;
  /** Of the batches, at the last request for them. */
  let told = 0;
  let collections = 0;
  io.on('connection', (socket) => {
    const n = ++connected - OF_RUN;
    socket.on(EVENTS.joinRoom, async ({ clientKey: room }: { clientKey: string }, ack) => {
      await socket.join(room);
      ack?.({ room, worker: habits.workerOf?.(n) ?? WORKER, members: membersOf(room).length });
    });
    socket.on(EVENTS.broadcastEcho, ({ seq, sentAtUs }: BroadcastEcho, ack) =>
      ack?.({ seq, roundTripUs: monotonicUs() - sentAtUs }),
    );
    if (n <= 0) return;
    socket.on(EVENTS.eventBatch, (_events: unknown, ack: () => void) => {
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
      // The clock and the machine of the run; but a container of its own, so that the control says what its memory is.
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
    const message: Broadcast = { seq, sentAtUs, worker: WORKER, data: payload(bytes) };
    const members = membersOf(room);
    const [ofLoad, ofRun] = [members.filter((one) => load.includes(one)), members.filter((one) => !load.includes(one))];
    // Before the load, the probe is alone.
    const {
      send = (_: Broadcast, all: Socket[]) => sendTo(all, message),
      sent = (truth) => truth,
      withholds,
    }: Habits = ofLoad.length > 0 ? habits : {};
    if (seq !== withholds) {
      send(
        message,
        ofLoad,
        load.filter((one) => !ofLoad.includes(one)),
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
    // Its own PSS would contradict the RSS above.
    resources: async () => ({ ...(await readResources(WORKER)), pssBytes: undefined }),
    batches: () => {
      const ownHandler = batches - told;
      told = batches;
      return { worker: WORKER, batches: 0, ownHandler, events: 0, handlerMs: null, eventLoop: IDLE_LOOP };
    },
    eventLoop: () => ({ worker: WORKER, seconds: [], delayP99Ms: [], delayMaxMs: [] }),
    profile: () => ({ worker: WORKER, failure: 'none' }),
    time: () => ({ monotonicUs: monotonicUs() }),
  };
  serveControl(controlIo, requests, new Guard({ malformed: () => {} }));
  const [url, controlUrl] = [await urlOf(t, http), await urlOf(t, controlHttp)];
  t.after(() => void Promise.all([io.close(), controlIo.close()]));
  return { url, controlUrl, load };
}

export function sendTo(members: Socket[], message: unknown): void {
  for (const member of members) member.emit(EVENTS.broadcast, message);
}
