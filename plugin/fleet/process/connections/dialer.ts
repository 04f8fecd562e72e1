/** Creates the clients of a process, which take turns on its source addresses. */
import { SOURCE_PORTS } from '../../../../protocol/base/machine/generator-resources.ts';
import type { Client, ClientOptions, ClientSink, CreateClient, RecoverableSession } from '../../client/client.ts';
import type { FleetSettings } from '../../fleet-messages.ts';

/** A part of the whole run's connections. */
export interface Share {
  index: number;
  of: number;
}

export class Dialer {
  readonly #create: CreateClient;
  /** Shared per address, because every client keeps a reference to its options. */
  readonly #options: ClientOptions[];
  #next = 0;

  /** @param share of this process among all that use the same addresses */
  constructor({ defaults, localAddresses, reconnection }: FleetSettings, share: Share, create: CreateClient) {
    const options = { ...defaults, keepsSessions: reconnection !== undefined };
    const perAddress = (localAddress: string) => ({ ...options, localAddress, localPort: sourcePorts(share) });
    this.#create = create;
    this.#options = localAddresses.length === 0 ? [options] : localAddresses.map(perAddress);
  }

  /** Creates the client of the next connection. */
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
 * Assigns source ports by counting, from a random one: a new run should not reuse ports that the last run has just released. For
 * a socket bound to an address without a port, the kernel tries the odd ephemeral ports one after the other; with some thousand
 * connections open, that takes milliseconds for each new one.
 * @param share index of this process: processes with the same address use disjoint ports
 * @returns the next port at each call, starting over after the last
 */
function sourcePorts({ index, of }: Share): () => number {
  const { first, last } = SOURCE_PORTS;
  const ports = Math.floor((last - first + 1) / of);
  let next = Math.floor(Math.random() * ports);
  return () => first + index + of * (next++ % ports);
}
