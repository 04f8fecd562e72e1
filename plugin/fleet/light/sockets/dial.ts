/** Opens the socket of a light connection and reports its events to the connection. */

import { Socket } from 'node:net';
import type { ClientOptions } from '../../client/client.ts';
import type { Destination } from '../websocket/websocket-handshake.ts';
import { hasTcpHandles, TcpHandle } from './tcp-handle.ts';
import { tlsContextOf } from './tls-context.ts';
import { dialTlsHandle } from './tls-handle.ts';
import type { Wire, WireListener } from './wire.ts';

/** Shared by all sockets of the process, because each chunk is processed before the next one arrives. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/** Lets all sockets share one set of event listeners. */
type Owned = Socket & { listener: WireListener };

/** @throws Error for an invalid source address or certificate, or if Node has no TLS handles */
export function dial(listener: WireListener, destination: Destination, options: ClientOptions): Wire {
  const { secure, host, servername } = destination.endpoint;
  if (!secure) return dialPlain(listener, destination, options);
  const sni = options.tls.servername ?? servername;
  return dialTlsHandle(listener, sni ?? host, sni, tlsContextOf(options.tls), (carried) =>
    dialPlain(carried, destination, options),
  );
}

function dialPlain(listener: WireListener, destination: Destination, options: ClientOptions): Wire {
  // net.Socket resolves names and rejects an invalid source address; with it, the kernel chooses the source port.
  if (!hasTcpHandles || !destination.areAddresses) return dialSocket(listener, destination, options);
  const { host, port } = destination.endpoint;
  const { localAddress, localPort } = options;
  return new TcpHandle(listener, { host, port, localAddress, localPort });
}

function dialSocket(listener: WireListener, destination: Destination, options: ClientOptions): Wire {
  const callback = (sizeBytes: number) => {
    socket.listener.feed(readBuffer, 0, sizeBytes);
    return true;
  };
  const plain = new Socket({ noDelay: true, onread: { buffer: readBuffer, callback } });
  const socket: Owned = Object.assign(plain, { listener });
  socket.on('connect', onConnect).on('error', onError).on('close', onClose);
  const { host, port } = destination.endpoint;
  socket.connect({ host, port, localAddress: options.localAddress });
  return socket;
}

function onConnect(this: Socket): void {
  (this as Owned).listener.onWireOpen(false);
}

function onError(this: Socket, error: Error): void {
  (this as Owned).listener.onWireError(error);
}

function onClose(this: Socket): void {
  (this as Owned).listener.onWireClosed();
}
