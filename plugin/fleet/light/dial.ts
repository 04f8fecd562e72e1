/** Opens the socket of a light connection and reports its events to the connection. */
import { Socket } from 'node:net';
import * as tls from 'node:tls';
import type { TlsOptions } from '../client.ts';
import type { UpgradePlan, WebSocketOptions } from './handshake.ts';
import { dialHandle, hasTcpHandles } from './tcp-handle.ts';
import type { Wire, WireListener } from './wire.ts';

/** One for all plain connections of the process: each chunk is read to its end before the next one can arrive. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/** Key and certificates are parsed once for each set of options, not once for each connection. */
const secureContexts = new WeakMap<TlsOptions, tls.SecureContext>();

/** Lets one set of listeners serve all sockets. */
type Owned<S> = S & { listener: WireListener };

/** @throws for an impossible source address or certificate */
export function dial(listener: WireListener, plan: UpgradePlan, options: WebSocketOptions): Wire {
  const { secure, host, port } = plan.endpoint;
  // net.Socket looks up names, and rejects an invalid source address.
  if (!hasTcpHandles || secure || !plan.areAddresses) return dialSocket(listener, plan, options);
  return dialHandle(listener, { host, port, localAddress: options.localAddress, localPort: options.localPort?.() });
}

/** Uses Node's public sockets: for TLS, for host names, and if there are no handles. @throws as `dial` */
export function dialSocket(listener: WireListener, plan: UpgradePlan, options: WebSocketOptions): Wire {
  const socket = plan.endpoint.secure ? dialTls(listener, plan, options) : dialTcp(listener, plan, options);
  socket.on('error', onError);
  socket.on('close', onClose);
  return socket;
}

function dialTcp(listener: WireListener, plan: UpgradePlan, options: WebSocketOptions): Socket {
  const callback = (sizeBytes: number) => {
    listener.feed(readBuffer, 0, sizeBytes);
    return true;
  };
  const socket = own(new Socket({ noDelay: true, onread: { buffer: readBuffer, callback } }), listener);
  socket.on('connect', onPlainConnect);
  const { host, port } = plan.endpoint;
  return socket.connect({ host, port, localAddress: options.localAddress, localPort: options.localPort?.() });
}

function dialTls(listener: WireListener, plan: UpgradePlan, options: WebSocketOptions): tls.TLSSocket {
  let secureContext = secureContexts.get(options.tls);
  if (secureContext === undefined) {
    const { ca, cert, key } = options.tls;
    secureContext = tls.createSecureContext({ ca, cert, key });
    secureContexts.set(options.tls, secureContext);
  }
  const { host, port, servername } = plan.endpoint;
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
  return own(socket, listener);
}

function own<S extends Socket>(socket: S, listener: WireListener): Owned<S> {
  return Object.assign(socket, { listener });
}

function onPlainConnect(this: Socket): void {
  const { listener } = this as Owned<Socket>;
  listener.onTcpOpen();
  listener.onWireOpen();
}

function onTlsTcpConnect(this: Socket): void {
  (this as Owned<Socket>).listener.onTcpOpen();
}

function onSecureConnect(this: Socket): void {
  (this as Owned<Socket>).listener.onWireOpen();
}

function onData(this: Socket, chunk: Buffer): void {
  (this as Owned<Socket>).listener.feed(chunk, 0, chunk.length);
}

function onError(this: Socket, error: Error): void {
  (this as Owned<Socket>).listener.onWireError(error);
}

function onClose(this: Socket): void {
  (this as Owned<Socket>).listener.onWireClosed();
}
