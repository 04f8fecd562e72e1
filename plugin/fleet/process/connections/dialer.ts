/** Creates the clients of a process, which use its source addresses in turn. */
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
  /** Options per address. Shared, because every client keeps a reference to its options. */
  readonly #options: ClientOptions[];
  #next = 0;

  /** @param share share of this process among all processes with the same addresses */
  constructor({ defaults, localAddresses, reconnection }: FleetSettings, share: Share, create: CreateClient) {
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
 * Assigns source ports by counting, from a random start, so that a new run does not reuse the ports that the last run has
 * just released. For a socket bound to an address without a port, the kernel tries the odd ephemeral ports in order; with
 * some thousand open connections, that takes milliseconds per connection.
 * @param share index of this process: processes with the same address use disjoint ports
 * @returns a function that returns the next port at each call, and starts over after the last
 */
function sourcePorts({ index, of }: Share): () => number {
  const { first, last } = SOURCE_PORTS;
  const ports = Math.floor((last - first + 1) / of);
  let next = Math.floor(Math.random() * ports);
  return () => first + index + of * (next++ % ports);
}
