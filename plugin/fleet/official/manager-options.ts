/** Converts connection options to those of socket.io-client, for the fleet and for the run's own receivers. */
import http from 'node:http';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { ManagerOptions } from 'socket.io-client';
import { type ConnectionOptions, MAX_PAYLOAD_BYTES } from '../../../protocol/wire/connection.ts';
import { httpAgentFor, secureContextOptions, tlsConnectOptions } from '../../../protocol/wire/http-agent.ts';
import { loadParser } from '../client/parser.ts';

/**
 * Compression with socket.io-client's default threshold in bytes. The package `ws` itself compresses messages of any
 * size.
 */
const COMPRESSION = { threshold: 1024 };

/**
 * Checks options before connecting. engine.io-client ignores errors that its transports throw, and would wait forever.
 * @throws the transport's error
 */
export function checkConnectionOptions({ headers, localAddress, tls }: ConnectionOptions): void {
  if (localAddress !== undefined && isIP(localAddress) === 0) {
    throw Object.assign(new TypeError(`${localAddress}: no IP address`), { code: 'ERR_INVALID_IP_ADDRESS' });
  }
  const context = secureContextOptions(tls);
  if (Object.values(context).some((pem) => pem !== undefined)) createSecureContext(context);
  for (const [name, value] of Object.entries(headers)) {
    http.validateHeaderName(name);
    http.validateHeaderValue(name, value);
  }
}

/** Returns options for socket.io-client's Manager. It makes a single attempt when a socket connects. */
export function managerOptions(options: ConnectionOptions): Partial<ManagerOptions> {
  const { localAddress, address, url } = options;
  const { servername, ...tls } = tlsConnectOptions(options.tls);
  // An agent is the only way to pass these options to both transports.
  const needsAgent = [servername, localAddress, address].some((one) => one !== undefined);
  return {
    path: options.path,
    addTrailingSlash: options.path.endsWith('/'),
    transports: [...options.transports],
    // Cookies of a proxy are kept between polling requests, as in a browser.
    withCredentials: options.transports[0] === 'polling',
    query: options.query,
    // The headers are copied, because the client adds the connection's cookies to them.
    extraHeaders: { ...options.headers },
    autoConnect: false,
    forceNew: true,
    reconnection: false,
    ...(options.parser !== undefined && { parser: loadParser(options.parser) }),
    ...tls,
    ...({
      perMessageDeflate: options.compression ? COMPRESSION : false,
      maxPayload: options.maxPayloadBytes ?? MAX_PAYLOAD_BYTES,
      ...(needsAgent ? { agent: httpAgentFor(url, options.tls, { localAddress, address }) } : {}),
    } as object),
  };
}
