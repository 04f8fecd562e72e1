/** What `@socket.io/admin-ui` in a server tells: how many clients each server of the deployment has. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Socket } from 'socket.io-client';
import { z } from 'zod';
import { CapacityError } from '../../../protocol/errors.ts';
import type { ConnectionTarget } from '../../script/connection-target.ts';
import type { AdminUiOptions } from '../../script/options/worker-sources.ts';
import { connectOfficial } from './official-client.ts';

/** How often each server sends its statistics: `initStatsEmitter` of @socket.io/admin-ui 0.5. */
export const ADMIN_INTERVAL_MS = 2000;
/** By then, all servers that the adapter reaches have sent some. */
const DISCOVERY_MS = 1.5 * ADMIN_INTERVAL_MS;

/** As far as it is needed. `clientsCount` is missing while the server has no HTTP server. */
const statsSchema = z.object({
  serverId: z.string(),
  hostname: z.string(),
  pid: z.number(),
  uptime: z.number(),
  clientsCount: z.number().int().nonnegative().default(0),
});

export interface AdminServer {
  /** Its `serverId`; without one, host and process. */
  worker: string;
  host: string;
  pid: number;
  uptimeSeconds: number;
  /** Clients of Engine.IO, this connection included. */
  connections: number;
}

export class AdminUi {
  readonly namespace: string;
  /** It reports every event of every client, which costs the server far more than the statistics. */
  reportsEvents = false;
  readonly #servers = new Map<string, AdminServer>();
  #socket: Socket | undefined;

  private constructor(namespace: string) {
    this.namespace = namespace;
  }

  /**
   * Connects, and waits until all servers have sent statistics.
   * @throws CapacityError TARGET_UNREACHABLE, or the signal's reason
   */
  static async open(options: AdminUiOptions, target: ConnectionTarget, signal: AbortSignal): Promise<AdminUi> {
    const { namespace, auth, url = target.url } = options;
    const adminUi = new AdminUi(namespace);
    const connection: ConnectionTarget = { ...target, url, namespace, auth, transports: ['websocket'] };
    try {
      adminUi.#socket = await connectOfficial(connection, signal, {
        onAny: (event, first) => adminUi.#receive(event, first),
      });
    } catch (error) {
      throw error instanceof CapacityError ? noAdminUi(namespace, error) : error;
    }
    try {
      await sleep(DISCOVERY_MS, undefined, { signal });
    } catch {
      adminUi.close();
      signal.throwIfAborted();
    }
    return adminUi;
  }

  get connected(): boolean {
    return this.#socket?.connected ?? false;
  }

  /** @returns all servers that have sent statistics, each as in its last ones, which are up to two seconds old */
  servers(): AdminServer[] {
    return [...this.#servers.values()];
  }

  /** Idempotent. */
  close(): void {
    this.#socket?.disconnect();
  }

  #receive(event: string, message: unknown): void {
    if (event === 'config') {
      const { supportedFeatures } = (message ?? {}) as { supportedFeatures?: unknown };
      this.reportsEvents = Array.isArray(supportedFeatures) && supportedFeatures.includes('ALL_EVENTS');
      return;
    }
    if (event !== 'server_stats') return;
    const stats = statsSchema.safeParse(message);
    if (!stats.success) return;
    const { serverId, hostname: host, pid, uptime: uptimeSeconds, clientsCount: connections } = stats.data;
    // Processes of one host that are not given an id have the host's name.
    const worker = serverId === host ? `${host}#${pid}` : serverId;
    this.#servers.set(JSON.stringify([worker, host, pid]), { worker, host, pid, uptimeSeconds, connections });
  }
}

/** The reader is to look at the option `workers.adminUi`, and not at how the load connects. */
function noAdminUi(namespace: string, { code, message }: CapacityError): CapacityError {
  return new CapacityError(
    code,
    `the admin UI at ${namespace} cannot be read: ${message}`,
    "correct `namespace`, `auth` or `url` of workers.adminUi: they are those of the server's instrument() of @socket.io/admin-ui",
  );
}
