/** Creates the clients of a process. The clients use the source addresses in turn. */
import { SOURCE_PORTS } from '../../../../protocol/base/machine/generator-resources.ts';
import type { Client, ClientOptions, ClientSink, CreateClient, RecoverableSession } from '../../client/client.ts';
import type { FleetSettings } from '../../fleet-messages.ts';

/** Part of the run's connections: every `of`-th connection, starting at `index`. */
export interface ConnectionShare {
  index: number;
  of: number;
}

export class ConnectionDialer {
  readonly #create: CreateClient;
  /** Options for each source address. Clients share these objects, to save memory. */
  readonly #options: ClientOptions[];
  #next = 0;

  /**
   * Prepares the options for each source address.
   * @param share share of this process among all processes that use the same source addresses
   */
  constructor({ defaults, localAddresses, reconnection }: FleetSettings, share: ConnectionShare, create: CreateClient) {
    const options = { ...defaults, keepsSessions: reconnection !== undefined };
    const perAddress = (localAddress: string) => ({ ...options, localAddress, localPort: sourcePorts(share) });
    this.#create = create;
    this.#options = localAddresses.length === 0 ? [options] : localAddresses.map(perAddress);
  }

  dial(
    sink: ClientSink,
    overrides: Partial<ClientOptions> | undefined,
    sessions: readonly RecoverableSession[] | undefined,
  ): Client {
    const options = this.#options[this.#next++ % this.#options.length] as ClientOptions;
    return this.#create(overrides ? { ...options, ...overrides } : options, sink, sessions);
  }
}

/**
 * Returns a function that returns the next source port on each call. The first port is random, so a new run does not
 * reuse ports that the last run has just released. Choosing a port here saves the kernel's search for a free port,
 * which takes milliseconds per connection if some thousand are open.
 * @param share share of this process: processes with the same source address use different ports
 */
function sourcePorts({ index, of }: ConnectionShare): () => number {
  const { first, last } = SOURCE_PORTS;
  const ports = Math.floor((last - first + 1) / of);
  let next = Math.floor(Math.random() * ports);
  return () => first + index + of * (next++ % ports);
}
