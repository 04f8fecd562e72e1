/** How a connection of Node's own clients is made: one reading of the options of TLS, for whatever a run connects to. */
import type { LookupAddress } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import type { TlsOptions } from './connection.ts';

export function secureContextOptions({ ca, cert, key }: TlsOptions): Pick<TlsOptions, 'ca' | 'cert' | 'key'> {
  return { ca, cert, key };
}

/** Node's names, without options that are not set: an undefined one would hide what Node itself finds out. */
export function tlsConnectOptions(tls: TlsOptions): Omit<TlsOptions, 'resume'> {
  const { rejectUnauthorized, servername } = tls;
  const all = { ...secureContextOptions(tls), rejectUnauthorized, servername };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

export function speaksTls(url: string | URL): boolean {
  return /^(https|wss):/.test(String(url));
}

/** By default, the kernel chooses the source, and the name's lookup the destination. */
interface Ends {
  localAddress?: string | undefined;
  address?: LookupAddress | undefined;
}

/** @returns an agent for this URL, which its owner destroys if it keeps connections */
export function agentTo(url: string | URL, tls: TlsOptions, { localAddress, address }: Ends = {}): http.Agent {
  const ends = { ...(localAddress && { localAddress }), ...(address && { lookup: lookupOf(address) }) };
  return speaksTls(url) ? new https.Agent({ ...tlsConnectOptions(tls), ...ends }) : new http.Agent(ends);
}

type Found = (error: null, address: string | LookupAddress[], family?: number) => void;

/** For a connection to one address of a name, which stays what a proxy routes by, and what a certificate is checked for. */
export function lookupOf(address: LookupAddress) {
  return (_name: string, { all }: { all?: boolean }, found: Found) =>
    all ? found(null, [address]) : found(null, address.address, address.family);
}
