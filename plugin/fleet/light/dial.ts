/** Opens the socket of a light connection, and tells the connection what happens on it. */
import { Socket } from 'node:net';
import * as tls from 'node:tls';
import type { ClientOptions, TlsOptions } from '../client.ts';
import type { EngineConnection, Wire } from './engine.ts';
import { type Endpoint, planOf } from './handshake.ts';
import { dialHandle, hasTcpHandles } from './tcp-handle.ts';

/** One for all plain connections of the process: each chunk is read to its end before the next one can arrive. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/** Key and certificates are parsed once for each set of options, not once for each connection. */
const secureContexts = new WeakMap<TlsOptions, tls.SecureContext>();

/** Lets one set of listeners serve all sockets. */
type Owned<S> = S & { connection: EngineConnection };

/** @throws for an impossible URL, source address or certificate */
export function dial(connection: EngineConnection, options: ClientOptions): Wire {
  const { endpoint, areAddresses } = planOf(options);
  const { secure, host, port } = endpoint;
  // Names are net's to look up, and what is no address is net's to refuse.
  if (!hasTcpHandles || secure || !areAddresses) return dialSocket(connection, options);
  return dialHandle(connection, { host, port, localAddress: options.localAddress, localPort: options.localPort?.() });
}

/** By Node's public sockets: for TLS, for names, and where there are no handles. @throws as `dial` */
export function dialSocket(connection: EngineConnection, options: ClientOptions): Wire {
  const { endpoint } = planOf(options);
  const socket = endpoint.secure ? dialTls(connection, endpoint, options) : dialTcp(connection, endpoint, options);
  socket.on('error', onError);
  socket.on('close', onClose);
  return socket;
}

function dialTcp(connection: EngineConnection, { host, port }: Endpoint, options: ClientOptions): Socket {
  const callback = (sizeBytes: number) => {
    connection.feed(readBuffer, 0, sizeBytes);
    return true;
  };
  const socket = own(new Socket({ noDelay: true, onread: { buffer: readBuffer, callback } }), connection);
  socket.on('connect', onPlainConnect);
  return socket.connect({ host, port, localAddress: options.localAddress, localPort: options.localPort?.() });
}

function dialTls(connection: EngineConnection, endpoint: Endpoint, options: ClientOptions): tls.TLSSocket {
  let secureContext = secureContexts.get(options.tls);
  if (secureContext === undefined) {
    const { ca, cert, key } = options.tls;
    secureContext = tls.createSecureContext({ ca, cert, key });
    secureContexts.set(options.tls, secureContext);
  }
  const { host, port, servername } = endpoint;
  const socket = tls.connect({
    host,
    port,
    localAddress: options.localAddress,
    localPort: options.localPort?.(),
    servername: options.tls.servername ?? servername,
    rejectUnauthorized: options.tls.rejectUnauthorized ?? true,
    // Proxies that prefer HTTP/2 must not choose it: the upgrade exists in HTTP/1.1 only.
    ALPNProtocols: ['http/1.1'],
    secureContext,
  } as tls.ConnectionOptions);
  socket.setNoDelay(true);
  socket.on('connect', onTlsTcpConnect);
  socket.on('secureConnect', onSecureConnect);
  socket.on('data', onData);
  return own(socket, connection);
}

function own<S extends Socket>(socket: S, connection: EngineConnection): Owned<S> {
  return Object.assign(socket, { connection });
}

function onPlainConnect(this: Socket): void {
  const { connection } = this as Owned<Socket>;
  connection.onTcpOpen();
  connection.onWireOpen();
}

function onTlsTcpConnect(this: Socket): void {
  (this as Owned<Socket>).connection.onTcpOpen();
}

function onSecureConnect(this: Socket): void {
  (this as Owned<Socket>).connection.onWireOpen();
}

function onData(this: Socket, chunk: Buffer): void {
  (this as Owned<Socket>).connection.feed(chunk, 0, chunk.length);
}

function onError(this: Socket, error: Error): void {
  (this as Owned<Socket>).connection.onWireError(error);
}

function onClose(this: Socket): void {
  (this as Owned<Socket>).connection.onWireClosed();
}
