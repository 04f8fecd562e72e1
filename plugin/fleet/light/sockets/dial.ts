/** Opens the socket of a light connection and reports its events to the connection. */
import { Socket } from 'node:net';
import * as tls from 'node:tls';
import type { Destination, WebSocketOptions } from '../websocket/handshake.ts';
import { dialHandle, hasTcpHandles } from './tcp-handle.ts';
import { ALPN, tlsContextOf } from './tls-context.ts';
import { dialTlsHandle, hasTlsHandles } from './tls-handle.ts';
import type { Wire, WireListener } from './wire.ts';

/** One for all plain connections of the process: each chunk is read to its end before the next one can arrive. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/** Lets one set of listeners serve all sockets. */
type Owned<S> = S & { listener: WireListener };

/** @throws for an impossible source address or certificate */
export function dial(listener: WireListener, destination: Destination, options: WebSocketOptions): Wire {
  const { secure, host } = destination.endpoint;
  if (!secure) return dialPlain(listener, destination, options);
  if (!hasTlsHandles) return dialSocket(listener, destination, options);
  const sni = options.tls.servername ?? destination.endpoint.servername;
  return dialTlsHandle(listener, sni ?? host, sni, tlsContextOf(options.tls), (carried) =>
    dialPlain(carried, destination, options),
  );
}

function dialPlain(listener: WireListener, destination: Destination, options: WebSocketOptions): Wire {
  // net.Socket looks up names, and rejects an invalid source address.
  if (!hasTcpHandles || !destination.areAddresses) return withEnds(dialTcp(listener, destination, options));
  const { host, port } = destination.endpoint;
  const { localAddress, localPort } = options;
  return dialHandle(listener, { host, port, localAddress, localPort });
}

/** Uses Node's public sockets only, for which the kernel chooses the source port. @throws as `dial` */
export function dialSocket(listener: WireListener, destination: Destination, options: WebSocketOptions): Wire {
  return withEnds(
    destination.endpoint.secure ? dialTls(listener, destination, options) : dialTcp(listener, destination, options),
  );
}

function withEnds<S extends Socket>(socket: S): S {
  return socket.on('error', onError).on('close', onClose);
}

function dialTcp(listener: WireListener, destination: Destination, options: WebSocketOptions): Owned<Socket> {
  const callback = (sizeBytes: number) => {
    socket.listener.feed(readBuffer, 0, sizeBytes);
    return true;
  };
  const socket: Owned<Socket> = own(new Socket({ noDelay: true, onread: { buffer: readBuffer, callback } }), listener);
  socket.on('connect', onPlainConnect);
  const { host, port } = destination.endpoint;
  socket.connect({ host, port, localAddress: options.localAddress });
  return socket;
}

function dialTls(listener: WireListener, destination: Destination, options: WebSocketOptions): Owned<tls.TLSSocket> {
  const context = tlsContextOf(options.tls);
  const { host, port } = destination.endpoint;
  const { sessions } = context;
  const servername = options.tls.servername ?? destination.endpoint.servername;
  const name = servername ?? host;
  const socket = tls.connect({
    host,
    port,
    localAddress: options.localAddress,
    servername,
    rejectUnauthorized: context.rejectUnauthorized,
    ALPNProtocols: ALPN,
    secureContext: context.secureContext,
    session: sessions?.get(name),
  } as tls.ConnectionOptions);
  socket.setNoDelay(true);
  socket.on('connect', onTlsTcpConnect);
  socket.on('secureConnect', onSecureConnect);
  socket.on('data', onData);
  if (sessions) socket.once('session', (session) => sessions.set(name, session));
  return own(socket, listener);
}

function own<S extends Socket>(socket: S, listener: WireListener): Owned<S> {
  return Object.assign(socket, { listener });
}

function onPlainConnect(this: Socket): void {
  (this as Owned<Socket>).listener.onWireOpen(false);
}

function onTlsTcpConnect(this: Socket): void {
  (this as Owned<Socket>).listener.onTcpOpen();
}

function onSecureConnect(this: tls.TLSSocket): void {
  (this as Owned<tls.TLSSocket>).listener.onWireOpen(this.isSessionReused());
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
