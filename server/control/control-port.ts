/** The control port of a worker: the control namespace, `/metrics` and `/healthz`, whatever kind of server it has. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Server } from 'socket.io';
import { monotonicUs } from '../../protocol/clock/clock.ts';
import type { BroadcastOrder, BroadcastSent, WorkerStats } from '../../protocol/events.ts';
import { thisHost } from '../../protocol/machine/host.ts';
import { VERSION } from '../../protocol/version.ts';
import type { BatchWindow } from '../contract/batch-window.ts';
import { listen } from '../listen.ts';
import { watchSockets } from '../open-sockets.ts';
import { type ControlRequests, serveControl } from './control.ts';
import { EventLoopHistory } from './event-loop-history.ts';
import { serveHttp } from './http.ts';
import { currentValue, type Metrics } from './metrics.ts';
import { tokenCheck } from './token.ts';
import { InMemoryAdapter } from './versions.ts';
import { readResources } from './worker-resources.ts';
import { type CollectionCount, collectGarbage, type EventLoopWindow, processStats } from './worker-stats.ts';

interface ControlPortOptions {
  token: string;
  /** 0 chooses a free port. */
  controlPort: number;
  controlHost: string;
  tls: { key: string | Buffer; cert: string | Buffer } | undefined;
  worker: string;
  metrics: Metrics;
  eventLoop: EventLoopWindow;
  collections: CollectionCount;
  batches: BatchWindow;
  publish(order: BroadcastOrder): Promise<BroadcastSent>;
  /** Of a room, on all workers. */
  members(room: string): Promise<number>;
  /** In the cluster. */
  servers(): Promise<number>;
  counts: { connections(): number; accepted(): number; rooms(): number };
  describe(): Pick<WorkerStats, 'versions' | 'server' | 'stream'>;
}

/** @throws CapacityError PORT_TAKEN, LISTEN_FAILED */
export async function openControlPort(options: ControlPortOptions): Promise<{ port: number; close(): Promise<void> }> {
  const { token, controlPort, controlHost, tls, worker, metrics, eventLoop, collections, batches, counts } = options;
  const http = tls ? createTlsServer(tls) : createServer();
  const endSockets = watchSockets(http);
  const port = await listen(http, controlPort, controlHost, 'control port');
  const instance = randomUUID();
  const isToken = tokenCheck(token);
  const parts = { worker, registry: metrics.registry, isToken };
  http.on('request', (request, response) => void serveHttp(request, response, parts));
  const controlIo = new Server(http, { serveClient: false, adapter: InMemoryAdapter });
  const history = new EventLoopHistory();
  const requests: ControlRequests = {
    broadcast: async (order) => {
      const sent = await options.publish(order);
      metrics.broadcasts.inc();
      return sent;
    },
    members: async (room) => ({ worker, members: await options.members(room) }),
    servers: async () => ({ worker, servers: await options.servers() }),
    gc: () => ({ worker, ...collectGarbage() }),
    stats: async () => ({
      worker,
      instance,
      version: VERSION,
      host: thisHost(),
      ...processStats(),
      collections: collections.read(),
      connections: counts.connections(),
      accepted: counts.accepted(),
      rooms: counts.rooms(),
      broadcasts: await currentValue(metrics.broadcasts),
      eventLoop: eventLoop.next(),
      ...options.describe(),
    }),
    resources: () => readResources(worker),
    batches: () => ({ worker, ...batches.next() }),
    eventLoop: (record) => ({ worker, ...history.next(record) }),
    time: () => ({ monotonicUs: monotonicUs() }),
  };
  serveControl(controlIo, isToken, requests, (event) => metrics.malformed.inc({ event: `control ${event}` }));
  return {
    port,
    close: async () => {
      history.close();
      const closed = controlIo.close();
      endSockets();
      await closed;
    },
  };
}
