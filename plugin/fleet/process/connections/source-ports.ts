/**
 * Assigns source ports by counting. For a socket bound to an address without a port, the kernel tries the odd ephemeral
 * ports one after the other; with some thousand connections open, that takes milliseconds for each new one.
 */
import { SOURCE_PORTS } from '../../../../protocol/generator.ts';
import type { ClientOptions } from '../../client/client.ts';

/**
 * @param share index of this process: processes with the same address use disjoint ports
 * @param random in [0, 1), for the first port: a new run should not reuse ports that the last run has just released
 * @returns the next port at each call, starting over after the last
 */
function sourcePorts(share: { index: number; of: number }, random = Math.random()): () => number {
  const { first, last } = SOURCE_PORTS;
  const ports = Math.floor((last - first + 1) / share.of);
  let next = Math.floor(random * ports);
  return () => first + share.index + share.of * (next++ % ports);
}

/**
 * Rotates over the source addresses, each with its own ports. It makes one object per address, not per connection: every
 * client keeps a reference to its options.
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
