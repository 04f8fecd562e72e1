/** Interface of the adapters. An adapter carries broadcasts between workers. */
import { createRequire } from 'node:module';
import type { Logger } from 'pino';
import type { Server } from 'socket.io';
import type { z } from 'zod';

/** Entry of `ADAPTERS`, the list of adapters. */
export interface AdapterKind<E extends z.ZodObject = z.ZodObject> {
  /** Package, and path of a broadcast, for the reference documentation. */
  help: string;
  /**
   * Whether workers with this adapter form one cluster. They count each other's room members and receive each other's
   * broadcasts.
   */
  clustered: boolean;
  /** Whether the adapter can restore the session of a dropped connection (`connectionStateRecovery`). */
  recovers: boolean;
  /** Environment variables of the adapter. They are parsed and required only if the adapter is chosen. */
  environment: E;
  /**
   * Connects to the broker, and makes the server use the adapter. The adapter's packages are imported dynamically, so
   * that workers with another adapter do not keep them in memory.
   * @param settings variables parsed by `environment`
   * @returns when the server's subscriptions are active
   * @throws CapacityError if the adapter cannot connect; everything is closed by then
   */
  connect(io: Server, settings: z.output<E>, log: Logger): Promise<ConnectedAdapter>;
}

interface ConnectedAdapter {
  nameAndVersion: string;
  /** Key of the Redis stream that the adapter writes to. */
  stream?: string;
  /** Number of errors since the start: lost connections, failed reconnects, failed publications. */
  errors(): number;
  /** Closes the adapter. Called after `io.close()`. A second call does nothing. */
  close(): Promise<void>;
}

/** Defines an adapter. The type of `connect`'s settings is inferred from `environment`. */
export function defineAdapter<E extends z.ZodObject>(kind: AdapterKind<E>): AdapterKind {
  return kind;
}

const require = createRequire(import.meta.url);

export function adapterPackage(name: string): string {
  return `${name} ${require(`${name}/package.json`).version}`;
}
