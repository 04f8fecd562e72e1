/** Where control ports are: one at each address of a name, such as that of a headless service, which has one for each pod. */
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';

export interface ControlPlace {
  url: string;
  /** Undefined where the name has a single address of its kind, and may have one of the other. */
  address: LookupAddress | undefined;
}

/** All addresses of a name. Rejects if it has none. */
export type LookupAll = (hostname: string) => Promise<LookupAddress[]>;

/** @returns each once; the URL itself if its name has one address, or is one, or cannot be looked up */
export async function placesOf(url: string, look?: LookupAll): Promise<ControlPlace[]> {
  const addresses = await addressesOf(url, look);
  return addresses.length > 1 ? addresses.map((address) => ({ url, address })) : [{ url, address: undefined }];
}

/** @returns addresses of one kind, IPv4 if there is any: a host with one of each kind is one host. Empty for what is an address itself, or has none. */
export async function addressesOf(
  url: string,
  look: LookupAll = (hostname) => lookup(hostname, { all: true }),
): Promise<LookupAddress[]> {
  const { hostname } = new URL(url);
  if (isIP(hostname) !== 0 || hostname.startsWith('[') || hostname === 'localhost') return [];
  const all = await look(hostname).catch(() => []);
  const kind = Math.min(...all.map(({ family }) => family));
  const byText = new Map(all.filter(({ family }) => family === kind).map((one) => [one.address, one]));
  return [...byText.values()].sort((a, b) => (a.address < b.address ? -1 : 1));
}
