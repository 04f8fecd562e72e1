/** Resolves control URLs: a host name can stand for a control port at each of its addresses, such as a headless service's pods. */
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';

export interface ControlEndpoint {
  url: string;
  /** Undefined if the host name has only one address. */
  address: LookupAddress | undefined;
}

/** Looks up all addresses of a host name. Rejects if it has none. */
export type LookupAll = (hostname: string) => Promise<LookupAddress[]>;

/** @returns an endpoint for each address; the URL alone if its host has one address, is an address, or cannot be looked up */
export async function endpointsOf(url: string, look?: LookupAll): Promise<ControlEndpoint[]> {
  const addresses = await addressesOf(url, look);
  return addresses.length > 1 ? addresses.map((address) => ({ url, address })) : [{ url, address: undefined }];
}

/**
 * @returns addresses of one family, IPv4 if there are any: a host with an IPv4 and an IPv6 address is one host. Empty if the URL has
 * an address in place of a name, or if the lookup fails
 */
export async function addressesOf(
  url: string,
  look: LookupAll = (hostname) => lookup(hostname, { all: true }),
): Promise<LookupAddress[]> {
  const { hostname } = new URL(url);
  if (isIP(hostname) !== 0 || hostname.startsWith('[') || hostname === 'localhost') return [];
  const all = await look(hostname).catch(() => []);
  const preferred = Math.min(...all.map(({ family }) => family));
  const byText = new Map(all.filter(({ family }) => family === preferred).map((found) => [found.address, found]));
  return [...byText.values()].sort((a, b) => (a.address < b.address ? -1 : 1));
}
