/** What the server asks of an adapter, which carries broadcasts from one worker to the others. */
import type { Logger } from 'pino';
import type { Server } from 'socket.io';
import type { z } from 'zod';

/** An entry of `ADAPTERS`. */
export interface AdapterKind {
  /** Whether workers that use it are one cluster: they count each other's room members and get each other's broadcasts. */
  clustered: boolean;
  /** The environment variables that it reads. They are parsed, and the required ones missed, only when it is chosen. */
  environment: z.ZodObject;
  /**
   * Connects, and makes the server use the adapter. Loads the adapter's packages itself, so that workers with another
   * adapter do not hold them in memory.
   * @param settings what `environment` parsed
   * @returns when the server's subscriptions are in force
   * @throws CapacityError when it cannot connect; everything is closed again then
   */
  connect(io: Server, settings: Record<string, unknown>, log: Logger): Promise<ConnectedAdapter>;
}

export interface ConnectedAdapter {
  /** Errors so far: lost connections, failed reconnections, publications that did not leave. */
  errors(): number;
  /** To be called after `io.close()`. Idempotent. */
  close(): Promise<void>;
}

/** Ties an adapter's variables to the code that gets what they parsed. */
export function defineAdapter<E extends z.ZodObject>(kind: {
  clustered: boolean;
  environment: E;
  connect(io: Server, settings: z.output<E>, log: Logger): Promise<ConnectedAdapter>;
}): AdapterKind {
  return kind;
}
