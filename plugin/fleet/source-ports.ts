/**
 * Source ports by count instead of by the kernel's search. A socket bound to an address without a port makes the kernel
 * try the odd ephemeral ports one after the other, and from some thousand connections on that costs milliseconds each.
 */
import { SOURCE_PORTS } from '../../protocol/generator.ts';
import type { ClientOptions } from './client.ts';

/**
 * @param share of this process: processes that use the same address take ports of their own
 * @param random in [0, 1); a new run is not to begin with the ports that the last one has just given back
 * @returns the next port at each call, around and around
 */
export function sourcePorts(share: { index: number; of: number }, random = Math.random()): () => number {
  const { first, last } = SOURCE_PORTS;
  const ports = Math.floor((last - first + 1) / share.of);
  let next = Math.floor(random * ports);
  return () => first + share.index + share.of * (next++ % ports);
}

/**
 * The source addresses in turn, each with ports of its own. One object per address, not per connection: every client
 * keeps a reference to its options.
 * @returns the next connection's options at each call
 */
export function optionsInTurn(
  defaults: ClientOptions,
  localAddresses: string[],
  share: { index: number; of: number },
): () => ClientOptions {
  if (localAddresses.length === 0) return () => defaults;
  const perAddress = localAddresses.map((localAddress) => ({
    ...defaults,
    localAddress,
    localPort: sourcePorts(share),
  }));
  let next = 0;
  return () => perAddress[next++ % perAddress.length] as ClientOptions;
}
