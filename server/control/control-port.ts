/** The control port of a worker, for a Socket.IO or a plain server: the control namespace, `/metrics` and `/healthz`. */
import { randomUUID } from 'node:crypto';
import { Server } from 'socket.io';
import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import { thisHost } from '../../protocol/base/machine/this-host.ts';
import { VERSION } from '../../protocol/base/version.ts';
import {
  type BroadcastOrder,
  type BroadcastSent,
  CONTROL_NAMESPACE,
  type WorkerStats,
} from '../../protocol/wire/events.ts';
import { openHttp } from '../http-listener.ts';
import { boundPackets, MAX_ARGUMENTS } from '../packet-bounds.ts';
import { type ControlRequests, serveControl } from './control.ts';
import { serveHttp } from './control-http.ts';
import { EventLoopHistory } from './event-loop-history.ts';
import type { OwnFigures } from './own-figures.ts';
import { OwnProfile } from './own-profile.ts';
import { bearerOf, tokenCheck } from './token.ts';
import { InMemoryAdapter } from './versions.ts';
import { readResources } from './worker-resources.ts';
import { collectGarbage, processStats } from './worker-stats.ts';

/** Limit of a control request, far above the largest real one. */
const MAX_REQUEST_BYTES = 64 * 1024;
/** Response to requests without the token, clearer than Engine.IO's 400. */
const REFUSED = 'HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\nconnection: close\r\n\r\n';

interface ControlPortOptions {
  token: string;
  /** 0 lets the system choose. */
  controlPort: number;
  controlHost: string;
  tls: { key: string | Buffer; cert: string | Buffer } | undefined;
  own: OwnFigures;
  /** Whether a run may profile the process. */
  profile: boolean;
  publish(order: BroadcastOrder): Promise<BroadcastSent>;
  members(room: string): Promise<number>;
  /** Counts the servers of the cluster. */
  servers(): Promise<number>;
  describe(): Pick<WorkerStats, 'versions' | 'server' | 'stream'>;
}

/** @throws CapacityError PORT_UNAVAILABLE */
export async function openControlPort(options: ControlPortOptions): Promise<{ port: number; close(): Promise<void> }> {
  const { controlPort: port, controlHost: host, tls } = options;
  const { worker, guard, metrics, eventLoop, collections, batches, counts } = options.own;
  const isToken = tokenCheck(options.token);
  const parts = { worker, registry: metrics.registry, isToken, guard };
  const listener = await openHttp({ port, host, tls, purpose: 'control port' }, guard, (request, response) =>
    serveHttp(request, response, parts),
  );
  const instance = randomUUID();
  const controlIo = new Server(listener.http, {
    serveClient: false,
    transports: ['websocket'],
    adapter: InMemoryAdapter,
    maxHttpBufferSize: MAX_REQUEST_BYTES,
    // Refuses the WebSocket itself without the token: its messages would take time and memory of this process.
    allowRequest: guard.wrap('control', (request, decide) => {
      const isAuthorized = isToken(bearerOf(request));
      if (isAuthorized) listener.admit(request.socket);
      else request.socket.end(REFUSED);
      decide(undefined, isAuthorized);
    }),
  });
  boundPackets(controlIo, MAX_ARGUMENTS, () => guard.malformed('control packet'));
  const history = new EventLoopHistory();
  const ownProfile = new OwnProfile(options.profile);
  let broadcasts = 0;
  const requests: ControlRequests = {
    broadcast: async (order) => {
      const sent = await options.publish(order);
      broadcasts++;
      metrics.broadcasts.inc();
      return sent;
    },
    members: async (room) => ({ worker, members: await options.members(room) }),
    servers: async () => ({ worker, servers: await options.servers() }),
    gc: () => ({ worker, ...collectGarbage() }),
    stats: () => ({
      worker,
      instance,
      version: VERSION,
      host: thisHost(),
      ...processStats(),
      collections: collections.read(),
      connections: counts.connections(),
      accepted: counts.accepted(),
      rooms: counts.rooms(),
      ...(counts.namespaces && { namespaces: counts.namespaces() }),
      broadcasts,
      eventLoop: eventLoop.next(),
      ...options.describe(),
    }),
    resources: () => readResources(worker),
    batches: () => ({ worker, ...batches.next() }),
    eventLoop: (record) => ({ worker, ...history.next(record) }),
    profile: async (action, kind) => ({ worker, ...(await ownProfile.request(action, kind)) }),
    time: () => ({ monotonicUs: monotonicUs() }),
  };
  serveControl(controlIo, requests, guard);
  // Ends the profile once no run is connected.
  const runConnections = controlIo.of(CONTROL_NAMESPACE);
  const endUnused = guard.wrap('control', () => (runConnections.sockets.size === 0 ? ownProfile.end() : undefined));
  runConnections.on('connection', (socket) => socket.on('disconnect', endUnused));
  return {
    port: listener.port,
    close: async () => {
      history.close();
      await ownProfile.end();
      await Promise.all([controlIo.close(), listener.close()]);
    },
  };
}
