/** Translates connection options to those of socket.io-client, for the fleet and for the run's own receivers. */
import http from 'node:http';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { ManagerOptions } from 'socket.io-client';
import { type ConnectionOptions, MAX_PAYLOAD_BYTES } from '../../../protocol/wire/connection.ts';
import { agentTo, secureContextOptions, tlsConnectOptions } from '../../../protocol/wire/http-agent.ts';
import { loadParser } from '../client/parser.ts';

/** The library's default; `ws` itself would compress messages of any size. */
const COMPRESSION = { threshold: 1024 };

/**
 * Checks options up front: engine.io-client swallows errors that its transports throw synchronously, and would wait for
 * ever.
 * @throws the error of the transport
 */
export function checkOptions({ headers, localAddress, tls }: ConnectionOptions): void {
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

/** Returns options for socket.io-client's Manager, which makes one attempt when a socket connects. */
export function managerOptions(options: ConnectionOptions): Partial<ManagerOptions> {
  const { localAddress, address, url } = options;
  const { servername, ...tls } = tlsConnectOptions(options.tls);
  // Only an agent passes these options to both transports.
  const needsAgent = [servername, localAddress, address].some((one) => one !== undefined);
  return {
    path: options.path,
    addTrailingSlash: options.path.endsWith('/'),
    transports: [...options.transports],
    // Keeps a proxy's cookies between polling requests, as a browser does.
    withCredentials: options.transports[0] === 'polling',
    query: options.query,
    // A copy, because the client writes the connection's cookies into the headers.
    extraHeaders: { ...options.headers },
    autoConnect: false,
    forceNew: true,
    reconnection: false,
    ...(options.parser !== undefined && { parser: loadParser(options.parser) }),
    ...tls,
    ...({
      perMessageDeflate: options.compression ? COMPRESSION : false,
      maxPayload: options.maxPayloadBytes ?? MAX_PAYLOAD_BYTES,
      ...(needsAgent ? { agent: agentTo(url, options.tls, { localAddress, address }) } : {}),
    } as object),
  };
}
