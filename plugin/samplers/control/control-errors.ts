/** Errors of control ports that the run cannot reach, with suggested fixes. */

import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { CONTROL_NAMESPACE } from '../../../protocol/wire/events.ts';

const START = 'start the server, with its control token; or correct the list of control addresses';
/** Addresses on which a control port listens by default. */
const DEFAULT_HOSTS = ['127.0.0.1', 'localhost', '[::1]'];
const OTHER_HOST =
  'a control port listens on 127.0.0.1 unless `controlHost` says otherwise: instrument(io, {controlHost: <address of its host>}); or start the server, or correct the list of control addresses';
const FIREWALL = 'let this machine reach that port: a firewall or a security group drops what it sends';
const NAME = 'correct the host name in the list of control addresses';
const SPEAKS_PLAIN = 'write http:// in the list of control addresses, or give instrument(io) the option `tls`';
const CERTIFICATE_PROBLEM = /CERT|ISSUER|ALTNAME|VERIFY/;
const TRUST =
  "name the certificate of its authority in the plugin's control.tls.ca (or NODE_EXTRA_CA_CERTS=/path/ca.pem), and the name that it is for in control.tls.servername";

/** The worker did not answer a request, or sent an invalid answer. It may have carried out the request. */
export class UnansweredRequestError extends CapacityError {}

/** A connect error of socket.io-client. */
type ConnectError = Error & { type?: string; description?: unknown };

/** Returns the system error code of a failed connect, such as ECONNREFUSED; without a code, the error's message. */
export function connectFailure(error: ConnectError): string {
  const { error: cause } = (error.description ?? {}) as { error?: NodeJS.ErrnoException };
  return cause?.code ?? cause?.message ?? error.message;
}

export function controlConnectError(url: string, error: ConnectError): CapacityError {
  // Transport errors have a type; the server's refusal has none. `timeout` is an error of socket.io-client itself.
  if (error.type !== undefined || error.message === 'timeout') {
    const reason = connectFailure(error);
    const status = / (401|403|407)$/.exec(reason)?.[1];
    if (status === undefined) return workerUnreachableError(url, reason, fixOf(url, reason));
    const fix = 'give the server and the run the same control token, and let every proxy in between pass it';
    return new CapacityError('BAD_TOKEN', `worker ${url} refused the control token: HTTP ${status}`, fix);
  }
  return new CapacityError(
    'CONTROL_MISSING',
    `${url} is a Socket.IO server without the control namespace ${CONTROL_NAMESPACE}: ${error.message}`,
  );
}

export function workerUnreachableError(url: string, reason: string, fix = START): CapacityError {
  return new CapacityError('SOURCE_UNREACHABLE', `control port of worker ${url} cannot be reached: ${reason}`, fix);
}

function fixOf(url: string, reason: string): string {
  const { hostname } = new URL(url.split(' ')[0] as string);
  if (CERTIFICATE_PROBLEM.test(reason)) return TRUST;
  if (/ENOTFOUND|EAI_AGAIN/.test(reason)) return NAME;
  if (/timeout|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/.test(reason)) return FIREWALL;
  if (/WRONG_VERSION_NUMBER|EPROTO|PACKET_LENGTH/.test(reason)) return SPEAKS_PLAIN;
  return reason === 'ECONNREFUSED' && !DEFAULT_HOSTS.includes(hostname) ? OTHER_HOST : START;
}

/**
 * A control port to connect to. A URL stands for several ports if its host name has several addresses, for example of a
 * headless service's pods.
 */
export interface ControlEndpoint {
  url: string;
  /** Address to connect to; undefined if the host name has only one address. */
  address: LookupAddress | undefined;
}

/** Looks up all addresses of a host name. Rejects if the name has no address. */
export type LookupAll = (hostname: string) => Promise<LookupAddress[]>;

/**
 * Returns an endpoint for each address of the URL's host. Returns the URL alone if the host has one address, is an IP
 * address, or cannot be looked up.
 */
export async function endpointsOf(url: string, look?: LookupAll): Promise<ControlEndpoint[]> {
  const addresses = await addressesOf(url, look);
  return addresses.length > 1 ? addresses.map((address) => ({ url, address })) : [{ url, address: undefined }];
}

/**
 * Returns the host's addresses of one family: IPv4 if there are any, because an IPv4 and an IPv6 address of a name
 * usually belong to the same host. Empty if the URL contains an IP address, or if the lookup fails.
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
