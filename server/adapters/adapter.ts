/** Interface of the adapters, which carry broadcasts between workers. */
import { createRequire } from 'node:module';
import type { Logger } from 'pino';
import type { Server } from 'socket.io';
import type { z } from 'zod';

/** An entry of `ADAPTERS`. */
export interface AdapterKind<E extends z.ZodObject = z.ZodObject> {
  /** Package and path of a broadcast, for the reference. */
  help: string;
  /** Whether its workers form one cluster: they count each other's room members and receive each other's broadcasts. */
  clustered: boolean;
  /** Whether it can restore the session of a connection that has dropped (`connectionStateRecovery`). */
  recovers: boolean;
  /** Environment variables that it reads; parsed and required only if the adapter is chosen. */
  environment: E;
  /**
   * Connects, and makes the server use the adapter. Imports the adapter's packages dynamically, so that workers with another adapter do not
   * keep them in memory.
   * @param settings what `environment` parsed
   * @returns once the server's subscriptions are active
   * @throws CapacityError when it cannot connect; everything is closed by then
   */
  connect(io: Server, settings: z.output<E>, log: Logger): Promise<ConnectedAdapter>;
}

interface ConnectedAdapter {
  nameAndVersion: string;
  /** Key of the Redis stream that it writes to. */
  stream?: string;
  /** Number of errors so far: lost connections, failed reconnects, failed publications. */
  errors(): number;
  /** To be called after `io.close()`. Idempotent. */
  close(): Promise<void>;
}

/** Infers the type of `connect`'s settings from `environment`. */
export function defineAdapter<E extends z.ZodObject>(kind: AdapterKind<E>): AdapterKind {
  return kind;
}

const require = createRequire(import.meta.url);

export function packageOf(name: string): string {
  return `${name} ${require(`${name}/package.json`).version}`;
}
