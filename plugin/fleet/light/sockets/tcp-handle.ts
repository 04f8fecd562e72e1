/**
 * TCP socket on Node's internal TCP handle, without the streams of net.Socket. This saves a minimal client about a
 * quarter of its CPU time and three fifths of its memory per connection (docs/benchmarks.md). The handle is not public
 * API: callers check `hasTcpHandles` first, and fall back to net.Socket.
 */
import { getSystemErrorName } from 'node:util';
import type { Wire, WireListener } from './wire.ts';

/** Error number of libuv: negative for an error, 0 for success. */
export type ErrorNumber = number;

export interface TcpRequest {
  oncomplete: (this: TcpRequest, status: ErrorNumber) => void;
}

interface ConnectRequest extends TcpRequest {
  wire: TcpHandle;
  destination: Destination;
  /** Number of source ports that were tried but already in use. */
  tries: number;
}

interface WriteRequest extends TcpRequest {
  wire: TcpHandle | undefined;
  /** Reference that keeps the bytes in memory until they are sent. */
  bytes: Uint8Array | undefined;
}

interface Handle {
  wire: TcpHandle;
  onread: (this: Handle) => void;
  bind(address: string, port: number, flags: number): ErrorNumber;
  bind6(address: string, port: number, flags: number): ErrorNumber;
  connect(request: TcpRequest, address: string, port: number): ErrorNumber;
  connect6(request: TcpRequest, address: string, port: number): ErrorNumber;
  setNoDelay(on: boolean): ErrorNumber;
  useUserBuffer(buffer: Uint8Array): void;
  readStart(): ErrorNumber;
  writeBuffer(request: TcpRequest, bytes: Uint8Array): ErrorNumber;
  shutdown(request: TcpRequest): ErrorNumber;
  close(): void;
}

interface Bindings {
  TCP: new (type: number) => Handle;
  TCPConnectWrap: new () => ConnectRequest;
  WriteWrap: new () => WriteRequest;
  ShutdownWrap: new () => TcpRequest;
  /** Results of the current call or callback, written by Node. */
  streamBaseState: Int32Array;
  kReadBytesOrError: number;
  kLastWriteWasAsync: number;
  socketType: number;
}

const END_OF_FILE = 'EOF';
/** Error codes for a source port that is in use. After such an error, the next port is tried. */
const PORT_TAKEN = new Set(['EADDRINUSE', 'EADDRNOTAVAIL']);
const MAX_PORT_TRIES = 100;
/** Memory in bytes that a pending write takes in addition to its data. 566 bytes were measured with 200,000 pongs. */
const WAITING_WRITE_BYTES = 570;
export const tcpBindings = load();
const internals = tcpBindings as Bindings;

/** Whether this version of Node has the internal TCP handle. */
export const hasTcpHandles = tcpBindings !== undefined;

function load(): Bindings | undefined {
  const { binding } = process as unknown as { binding?: (name: string) => Record<string, unknown> };
  try {
    const tcp = binding?.('tcp_wrap') as (Bindings & { constants: { SOCKET: number } }) | undefined;
    const stream = binding?.('stream_wrap') as Bindings | undefined;
    if (!tcp || !stream) return undefined;
    const { TCP, TCPConnectWrap, constants } = tcp;
    const { WriteWrap, ShutdownWrap, streamBaseState, kReadBytesOrError, kLastWriteWasAsync } = stream;
    const areFunctions = [TCP, TCPConnectWrap, WriteWrap, ShutdownWrap].every(
      (internal) => typeof internal === 'function',
    );
    if (!areFunctions || !(streamBaseState?.length > Math.max(kReadBytesOrError, kLastWriteWasAsync))) return undefined;
    const constructors = { TCP, TCPConnectWrap, WriteWrap, ShutdownWrap, streamBaseState, kReadBytesOrError };
    return { ...constructors, kLastWriteWasAsync, socketType: constants.SOCKET };
  } catch {
    return undefined; // This version of Node lacks the internal modules, or its permission model blocks them.
  }
}

/** Read buffer of all connections of the process. Each chunk is processed before the next chunk is read. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

interface Destination {
  /** IP address of the server; host names are not accepted. */
  host: string;
  port: number;
  localAddress: string | undefined;
  /** Returns a source port for each try. If undefined, the kernel chooses the port. */
  localPort: (() => number) | undefined;
}

/** Node's request object of the last completed write, which is reused. Nearly all writes complete at once. */
let spareWrite: WriteRequest | undefined;

/** Requires `hasTcpHandles`. */
export class TcpHandle implements Wire {
  #handle: Handle;
  listener: WireListener | undefined;
  writableLength = 0;

  /**
   * Opens a socket, and starts to connect.
   * @throws Error with the system's code, such as `EADDRINUSE` or `EMFILE`, if connecting fails at once
   */
  constructor(listener: WireListener, destination: Destination) {
    this.listener = listener;
    this.#handle = this.#newHandle();
    const failed = this.#connect(destination, 0);
    if (failed === undefined) return;
    this.destroy();
    throw failed;
  }

  #newHandle(): Handle {
    const handle = new internals.TCP(internals.socketType);
    handle.wire = this;
    handle.setNoDelay(true);
    return handle;
  }

  /**
   * Starts to connect.
   * @returns the error if it fails at once
   */
  #connect(destination: Destination, tries: number): NodeJS.ErrnoException | undefined {
    const { host, port, localAddress, localPort } = destination;
    const [handle, ownPort] = [this.#handle, localPort?.() ?? 0];
    if (localAddress !== undefined) {
      const bound = isIPv6(localAddress)
        ? handle.bind6(localAddress, ownPort, 0)
        : handle.bind(localAddress, ownPort, 0);
      if (bound !== 0) return this.#failed(bound, `bind ${localAddress}:${ownPort}`, destination, tries);
    }
    const request = Object.assign(new internals.TCPConnectWrap(), { wire: this, destination, tries });
    request.oncomplete = onConnected;
    const status = isIPv6(host) ? handle.connect6(request, host, port) : handle.connect(request, host, port);
    return status === 0 ? undefined : this.#failed(status, `connect ${host}:${port}`, destination, tries);
  }

  /** Returns the error of a failed connect; undefined if another source port is being tried. */
  #failed(
    status: ErrorNumber,
    operation: string,
    destination: Destination,
    tries: number,
  ): NodeJS.ErrnoException | undefined {
    const error = systemError(status, operation);
    const isTaken = destination.localPort !== undefined && PORT_TAKEN.has(error.code ?? '');
    if (!isTaken || tries === MAX_PORT_TRIES) return error;
    this.#handle.close();
    this.#handle = this.#newHandle();
    return this.#connect(destination, tries + 1);
  }

  connected(status: ErrorNumber, { destination, tries }: ConnectRequest): void {
    if (this.listener === undefined) return;
    if (status !== 0) {
      const error = this.#failed(status, 'connect', destination, tries);
      if (error) this.#end(error);
      return;
    }
    const handle = this.#handle;
    handle.onread = onRead;
    handle.useUserBuffer(readBuffer);
    this.listener.onWireOpen(false);
    if (this.listener !== undefined) handle.readStart();
  }

  read(sizeBytesOrError: number): void {
    if (sizeBytesOrError > 0) this.listener?.feed(readBuffer, 0, sizeBytesOrError);
    else if (sizeBytesOrError < 0) this.fail(sizeBytesOrError, 'read');
  }

  write(bytes: Uint8Array): void {
    if (this.listener === undefined) return;
    const request = spareWrite ?? new internals.WriteWrap();
    spareWrite = undefined;
    request.oncomplete = onWritten;
    const status = this.#handle.writeBuffer(request, bytes);
    if (status === 0 && internals.streamBaseState[internals.kLastWriteWasAsync] !== 0) {
      request.bytes = bytes;
      request.wire = this;
      this.writableLength += bytes.length + WAITING_WRITE_BYTES;
      return;
    }
    spareWrite = request;
    // The error is reported asynchronously, because the caller has not returned yet.
    if (status !== 0) process.nextTick(() => this.fail(status, 'write'));
  }

  /** Sends the remaining data, then closes the sending direction. */
  end(bytes?: Uint8Array): void {
    if (this.listener === undefined) return;
    if (bytes) this.write(bytes);
    const request = new internals.ShutdownWrap();
    request.oncomplete = ignore;
    this.#handle.shutdown(request);
  }

  /** Closes the socket at once. The listener is not notified. Idempotent. */
  destroy(): void {
    if (this.listener === undefined) return;
    this.listener = undefined;
    this.#handle.close();
  }

  fail(status: ErrorNumber, operation: string): void {
    this.#end(systemError(status, operation));
  }

  #end(error: NodeJS.ErrnoException): void {
    const { listener } = this;
    if (listener === undefined) return;
    this.destroy();
    if (error.code !== END_OF_FILE) listener.onWireError(error);
    listener.onWireClosed();
  }
}

function onConnected(this: TcpRequest, status: ErrorNumber): void {
  const request = this as ConnectRequest;
  request.wire.connected(status, request);
}

function onRead(this: Handle): void {
  this.wire.read(internals.streamBaseState[internals.kReadBytesOrError] ?? 0);
}

function onWritten(this: TcpRequest, status: ErrorNumber): void {
  const { wire, bytes } = this as WriteRequest;
  if (wire && bytes) wire.writableLength -= bytes.length + WAITING_WRITE_BYTES;
  if (status !== 0) wire?.fail(status, 'write');
}

function ignore(): void {}

/** Returns whether a valid IP address is IPv6. `net.isIPv6` is slower, because it runs regular expressions. */
function isIPv6(address: string): boolean {
  return address.includes(':');
}

export function systemError(status: ErrorNumber, operation: string): NodeJS.ErrnoException {
  const code = getSystemErrorName(status);
  return Object.assign(new Error(`${operation}: ${code}`), { code });
}
