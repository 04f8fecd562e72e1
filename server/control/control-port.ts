/**
 * Control port of a worker, for both Socket.IO and plain servers. It serves the control namespace, `/metrics` and
 * `/healthz`.
 */
import { randomUUID } from 'node:crypto';
import * as files from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import v8 from 'node:v8';
import { isMainThread } from 'node:worker_threads';
import { Server } from 'socket.io';
import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import { readCgroup } from '../../protocol/base/machine/cgroup.ts';
import { parseSmapsRollup, readCpu, readMemory, readTcpBytes } from '../../protocol/base/machine/kernel.ts';
import { openFileLimits } from '../../protocol/base/machine/open-files.ts';
import { allocatedBytes, compiledBytes } from '../../protocol/base/machine/own-heaps.ts';
import { thisHost, thisMachine } from '../../protocol/base/machine/this-host.ts';
import { usableCores } from '../../protocol/base/machine/usable.ts';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';
import { VERSION } from '../../protocol/base/version.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { type ProfileAction, profileProcess } from '../../protocol/profiles/profile-process.ts';
import { PROFILE_LIMITS, type ProfileKind } from '../../protocol/profiles/profile-schema.ts';
import {
  type BroadcastRequest,
  type BroadcastSent,
  CONTROL_NAMESPACE,
  type WorkerMachine,
  type WorkerResources,
  type WorkerStats,
} from '../../protocol/wire/events.ts';
import { openHttpListener } from '../http-listener.ts';
import { limitPacketElements, MAX_PACKET_ELEMENTS } from '../packet-bounds.ts';
import { bearerToken, tokenCheck } from '../unauthenticated.ts';
import { type ControlRequests, serveControl } from './control.ts';
import { serveControlHttp } from './control-http.ts';
import { EventLoopHistory } from './event-loop-history.ts';
import type { WorkerOwnFigures } from './own-figures.ts';
import { InMemoryAdapter } from './versions.ts';
import { collectGarbage, processStats } from './worker-stats.ts';

/** Maximum size of a control request, far above the largest real request. */
const MAX_REQUEST_BYTES = 64 * 1024;
/** Response to a request without the token. It is clearer than the status 400 that Engine.IO would send. */
const REFUSED = 'HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\nconnection: close\r\n\r\n';

interface ControlPortOptions {
  token: string;
  /** Control port; 0 lets the system choose. */
  controlPort: number;
  controlHost: string;
  tls: { key: string | Buffer; cert: string | Buffer } | undefined;
  own: WorkerOwnFigures;
  /** Whether a run may profile the process. */
  profile: boolean;
  publish(order: BroadcastRequest): Promise<BroadcastSent>;
  members(room: string): Promise<number>;
  /** Returns the number of servers in the cluster. */
  servers(): Promise<number>;
  describe(): Pick<WorkerStats, 'versions' | 'server' | 'stream'>;
}

/** @throws CapacityError PORT_UNAVAILABLE */
export async function openControlPort(options: ControlPortOptions): Promise<{ port: number; close(): Promise<void> }> {
  const { controlPort: port, controlHost: host, tls } = options;
  const { worker, guard, metrics, eventLoop, collections, batches, counts } = options.own;
  const isToken = tokenCheck(options.token);
  const parts = { worker, registry: metrics.registry, isToken, guard };
  const listener = await openHttpListener({ port, host, tls, purpose: 'control port' }, guard, (request, response) =>
    serveControlHttp(request, response, parts),
  );
  const instance = randomUUID();
  const controlIo = new Server(listener.http, {
    serveClient: false,
    transports: ['websocket'],
    adapter: InMemoryAdapter,
    maxHttpBufferSize: MAX_REQUEST_BYTES,
    // Refuses the WebSocket itself if the token is missing. Messages on it would otherwise take time and memory of this
    // process.
    allowRequest: guard.wrap('control', (request, decide) => {
      const isAuthorized = isToken(bearerToken(request));
      if (isAuthorized) listener.admit(request.socket);
      else request.socket.end(REFUSED);
      decide(undefined, isAuthorized);
    }),
  });
  limitPacketElements(controlIo, MAX_PACKET_ELEMENTS, () => guard.malformed('control packet'));
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
  // Ends the profile when no run is connected.
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

/** Runs V8's profilers in the worker's own process, if a run requests it and the server allows it. */
class OwnProfile {
  readonly #isAllowed: boolean;

  constructor(isAllowed: boolean) {
    this.#isAllowed = isAllowed;
  }

  /**
   * Starts, takes or discards a profile.
   * @throws CapacityError REQUEST_FAILED if the server does not allow profiles
   */
  async request(action: ProfileAction, kind: ProfileKind): Promise<ReturnType<typeof profileProcess>> {
    if (!this.#isAllowed)
      throw new CapacityError(
        'REQUEST_FAILED',
        'the server does not allow profiles: set the option `profile: true` of `instrument(io)`',
      );
    // `node:inspector` is imported only when needed, because runtimes other than Node can lack it.
    const [inspector, fs] = await Promise.all([import('node:inspector'), import('node:fs')]);
    return profileProcess({ inspector, fs }, PROFILE_LIMITS, action, kind);
  }

  /** Ends a running profile. Does nothing if there is none. Never rejects. */
  async end(): Promise<void> {
    if (this.#isAllowed) await this.request('end', 'cpu').catch(() => {});
  }
}

/** Reads the use of resources. Values that the system does not provide are omitted; only Linux provides all of them. */
export async function readResources(worker: string): Promise<WorkerResources> {
  const [rollup, open] = await Promise.all([
    readFile('/proc/self/smaps_rollup', 'latin1').catch(() => ''),
    readdir('/proc/self/fd').catch(() => undefined),
  ]);
  const { soft } = openFileLimits();
  return {
    worker,
    pssBytes: parseSmapsRollup(rollup)?.pssBytes,
    mallocBytes: isMainThread ? tryOrUndefined(() => allocatedBytes(files)) : undefined,
    codeBytes: tryOrUndefined(() => compiledBytes(v8)),
    // Number of open files, without the one for reading this list.
    openFiles: open && open.length - 1,
    openFilesLimit: Number.isFinite(soft) ? soft : null,
    cgroup: readCgroup(),
    usableCores: usableCores(),
    machine: machine(),
  };
}

function machine(): WorkerMachine {
  return {
    hostname: hostname(),
    kernel: thisHost().kernel,
    ...thisMachine(),
    usedBytes: tryOrUndefined(() => readMemory().usedBytes),
    tcpBytes: tryOrUndefined(readTcpBytes),
    cpu: tryOrUndefined(readCpu),
  };
}
