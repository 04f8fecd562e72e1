/**
 * Options of Node's HTTP clients for connections to a URL. All connections of a run interpret the TLS options in the
 * same way.
 */
import type { LookupAddress } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import type { TlsOptions } from './connection.ts';

export function secureContextOptions({ ca, cert, key }: TlsOptions): Pick<TlsOptions, 'ca' | 'cert' | 'key'> {
  return { ca, cert, key };
}

/** Returns TLS options for Node. Undefined options are removed, because they would override Node's defaults. */
export function tlsConnectOptions(tls: TlsOptions): Omit<TlsOptions, 'resume'> {
  const { rejectUnauthorized, servername } = tls;
  const all = { ...secureContextOptions(tls), rejectUnauthorized, servername };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

export function isTlsUrl(url: string | URL): boolean {
  return /^(https|wss):/.test(String(url));
}

/**
 * Source and destination address of a connection. By default, the kernel chooses the source, and the destination is
 * looked up.
 */
interface Addresses {
  localAddress?: string | undefined;
  address?: LookupAddress | undefined;
}

/** Returns an HTTP agent for this URL. If the agent keeps connections alive, the caller must destroy it. */
export function httpAgentFor(
  url: string | URL,
  tls: TlsOptions,
  { localAddress, address }: Addresses = {},
): http.Agent {
  const ends = { ...(localAddress && { localAddress }), ...(address && { lookup: fixedLookup(address) }) };
  return isTlsUrl(url) ? new https.Agent({ ...tlsConnectOptions(tls), ...ends }) : new http.Agent(ends);
}

type Found = (error: null, address: string | LookupAddress[], family?: number) => void;

/**
 * Returns a `lookup` function that always returns this address. The URL still determines the host name and the
 * certificate check.
 */
export function fixedLookup(address: LookupAddress) {
  return (_name: string, { all }: { all?: boolean }, found: Found) =>
    all ? found(null, [address]) : found(null, address.address, address.family);
}
