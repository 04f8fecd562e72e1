/**
 * A TCP socket on Node's internal handle, without the streams of net.Socket. That takes about a quarter less CPU and three fifths less
 * memory per connection in a minimal client (docs/benchmarks.md). The handle is not public API, so callers check `hasTcpHandles` first and
 * fall back to net.Socket.
 */
import { getSystemErrorName } from 'node:util';
import type { Wire, WireListener } from './wire.ts';

/** Negative error number of libuv; 0 is success. */
export type ErrorNumber = number;

export interface Request {
  oncomplete: (this: Request, status: ErrorNumber) => void;
}

interface ConnectRequest extends Request {
  wire: TcpHandle;
  destination: Destination;
  /** Number of source ports tried that were in use. */
  tries: number;
}

interface WriteRequest extends Request {
  wire: TcpHandle | undefined;
  /** Keeps the bytes until they are sent. */
  bytes: Uint8Array | undefined;
}

interface Handle {
  wire: TcpHandle;
  onread: (this: Handle) => void;
  bind(address: string, port: number, flags: number): ErrorNumber;
  bind6(address: string, port: number, flags: number): ErrorNumber;
  connect(request: Request, address: string, port: number): ErrorNumber;
  connect6(request: Request, address: string, port: number): ErrorNumber;
  setNoDelay(on: boolean): ErrorNumber;
  useUserBuffer(buffer: Uint8Array): void;
  readStart(): ErrorNumber;
  writeBuffer(request: Request, bytes: Uint8Array): ErrorNumber;
  shutdown(request: Request): ErrorNumber;
  close(): void;
}

interface Bindings {
  TCP: new (type: number) => Handle;
  TCPConnectWrap: new () => ConnectRequest;
  WriteWrap: new () => WriteRequest;
  ShutdownWrap: new () => Request;
  /** Results of the current call or callback. */
  streamBaseState: Int32Array;
  kReadBytesOrError: number;
  kLastWriteWasAsync: number;
  socketType: number;
}

const END_OF_FILE = 'EOF';
/** Errors of a chosen source port that is in use, after which the next port is tried. */
const PORT_TAKEN = new Set(['EADDRINUSE', 'EADDRNOTAVAIL']);
const MAX_PORT_TRIES = 100;
/** Memory of a pending write in addition to its bytes; 566 was measured with 200,000 pongs. */
const WAITING_WRITE_BYTES = 570;
export const bindings = load();
const internals = bindings as Bindings;

/** Whether this version of Node has these internals, as all versions of the past ten years do. */
export const hasTcpHandles = bindings !== undefined;

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
    return undefined; // removed, or blocked by the permission model
  }
}

/** Shared by all connections of the process, because each chunk is processed before the next one arrives. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

interface Destination {
  /** IP address, not a name. */
  host: string;
  port: number;
  localAddress: string | undefined;
  /** Called for each try; undefined lets the kernel choose. */
  localPort: (() => number) | undefined;
}

/** Request object that is reused as long as writes complete at once, as nearly all do. */
let spareWrite: WriteRequest | undefined;

/** Requires `hasTcpHandles`. */
export class TcpHandle implements Wire {
  #handle: Handle;
  listener: WireListener | undefined;
  writableLength = 0;

  /** @throws Error with the system's code, such as `EADDRINUSE` or `EMFILE`, if it fails at once */
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

  /** Returns the error if it fails at once. */
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

  /** Returns the error; undefined if it retries with another source port. */
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
    // Reported later, because the caller is still changing its state.
    if (status !== 0) process.nextTick(() => this.fail(status, 'write'));
  }

  /** Sends the remaining data, then half-closes the connection. */
  end(bytes?: Uint8Array): void {
    if (this.listener === undefined) return;
    if (bytes) this.write(bytes);
    const request = new internals.ShutdownWrap();
    request.oncomplete = ignore;
    this.#handle.shutdown(request);
  }

  /** Closes the socket at once; nothing is reported afterwards. Idempotent. */
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

function onConnected(this: Request, status: ErrorNumber): void {
  const request = this as ConnectRequest;
  request.wire.connected(status, request);
}

function onRead(this: Handle): void {
  this.wire.read(internals.streamBaseState[internals.kReadBytesOrError] ?? 0);
}

function onWritten(this: Request, status: ErrorNumber): void {
  const { wire, bytes } = this as WriteRequest;
  if (wire && bytes) wire.writableLength -= bytes.length + WAITING_WRITE_BYTES;
  if (status !== 0) wire?.fail(status, 'write');
}

function ignore(): void {}

/** Returns whether a valid address is IPv6. `net.isIPv6` would run regular expressions for each connection. */
function isIPv6(address: string): boolean {
  return address.includes(':');
}

export function systemError(status: ErrorNumber, operation: string): NodeJS.ErrnoException {
  const code = getSystemErrorName(status);
  return Object.assign(new Error(`${operation}: ${code}`), { code });
}
