/**
 * A TCP socket on Node's own handle, without the streams of net.Socket: a minimal client without them takes
 * about a quarter less CPU and three fifths less memory for a connection (docs/benchmarks/cost.md). The handle is not
 * Node's public API, so callers check `hasTcpHandles` first, and fall back to net.Socket.
 */
import { getSystemErrorName } from 'node:util';
import type { Wire, WireListener } from './wire.ts';

/** libuv's, negative; 0 is success. */
export type ErrorNumber = number;

export interface Request {
  oncomplete: (this: Request, status: ErrorNumber) => void;
}

interface ConnectRequest extends Request {
  wire: TcpHandle;
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
  /** Results of the call or callback under way. */
  streamBaseState: Int32Array;
  kReadBytesOrError: number;
  kLastWriteWasAsync: number;
  socketType: number;
}

const END_OF_FILE = 'EOF';
/** Memory of a write that waits, beside its bytes: 566 measured with 200,000 pongs. */
const WAITING_WRITE_BYTES = 570;
export const bindings = load();

/** Whether this version of Node still has these internals, as every version of the past ten years has. */
export const hasTcpHandles = bindings !== undefined;

function load(): Bindings | undefined {
  const { binding } = process as unknown as { binding?: (name: string) => Record<string, unknown> };
  try {
    const tcp = binding?.('tcp_wrap') as (Bindings & { constants: { SOCKET: number } }) | undefined;
    const stream = binding?.('stream_wrap') as Bindings | undefined;
    if (!tcp || !stream) return undefined;
    const { TCP, TCPConnectWrap, constants } = tcp;
    const { WriteWrap, ShutdownWrap, streamBaseState, kReadBytesOrError, kLastWriteWasAsync } = stream;
    const areFunctions = [TCP, TCPConnectWrap, WriteWrap, ShutdownWrap].every((one) => typeof one === 'function');
    if (!areFunctions || !(streamBaseState?.length > Math.max(kReadBytesOrError, kLastWriteWasAsync))) return undefined;
    const found = { TCP, TCPConnectWrap, WriteWrap, ShutdownWrap, streamBaseState, kReadBytesOrError };
    return { ...found, kLastWriteWasAsync, socketType: constants.SOCKET };
  } catch {
    return undefined; // removed, or closed off by the permission model
  }
}

/** One for all connections of the process: each chunk is read to its end before the next one can arrive. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

interface Destination {
  /** An address, not a name. */
  host: string;
  port: number;
  localAddress: string | undefined;
  localPort: number | undefined;
}

/** @throws Error with the system's code, such as `EADDRINUSE` or `EMFILE`, for what fails at once */
export function dialHandle(listener: WireListener, destination: Destination): Wire {
  if (!bindings) throw new Error('this Node has no TCP handles');
  return new TcpHandle(bindings, listener, destination);
}

/** Reused as long as writes complete at once, as nearly all do. */
let spareWrite: WriteRequest | undefined;

class TcpHandle implements Wire {
  readonly #bindings: Bindings;
  readonly #handle: Handle;
  listener: WireListener | undefined;
  writableLength = 0;

  constructor(bindings: Bindings, listener: WireListener, destination: Destination) {
    this.#bindings = bindings;
    this.listener = listener;
    this.#handle = new bindings.TCP(bindings.socketType);
    this.#handle.wire = this;
    try {
      this.#connect(destination);
    } catch (error) {
      this.destroy();
      throw error;
    }
  }

  #connect({ host, port, localAddress, localPort = 0 }: Destination): void {
    const handle = this.#handle;
    handle.setNoDelay(true);
    if (localAddress !== undefined) {
      const bound = isIPv6(localAddress)
        ? handle.bind6(localAddress, localPort, 0)
        : handle.bind(localAddress, localPort, 0);
      if (bound !== 0) throw systemError(bound, `bind ${localAddress}:${localPort}`);
    }
    const request = new this.#bindings.TCPConnectWrap();
    request.oncomplete = onConnected;
    request.wire = this;
    const status = isIPv6(host) ? handle.connect6(request, host, port) : handle.connect(request, host, port);
    if (status !== 0) throw systemError(status, `connect ${host}:${port}`);
  }

  connected(status: ErrorNumber): void {
    if (status !== 0) {
      this.fail(status, 'connect');
      return;
    }
    const handle = this.#handle;
    handle.onread = onRead;
    handle.useUserBuffer(readBuffer);
    this.listener?.onWireOpen(false);
    if (this.listener !== undefined) handle.readStart();
  }

  read(sizeBytesOrError: number): void {
    if (sizeBytesOrError > 0) this.listener?.feed(readBuffer, 0, sizeBytesOrError);
    else if (sizeBytesOrError < 0) this.fail(sizeBytesOrError, 'read');
  }

  write(bytes: Uint8Array): void {
    if (this.listener === undefined) return;
    const request = spareWrite ?? new this.#bindings.WriteWrap();
    spareWrite = undefined;
    request.oncomplete = onWritten;
    const status = this.#handle.writeBuffer(request, bytes);
    if (status === 0 && this.#bindings.streamBaseState[this.#bindings.kLastWriteWasAsync] !== 0) {
      request.bytes = bytes;
      request.wire = this;
      this.writableLength += bytes.length + WAITING_WRITE_BYTES;
      return;
    }
    spareWrite = request;
    // Reported later: the caller is in the middle of changing its state.
    if (status !== 0) process.nextTick(() => this.fail(status, 'write'));
  }

  /** Sends the remaining data, then ends this side of the connection. */
  end(bytes?: Uint8Array): void {
    if (this.listener === undefined) return;
    if (bytes) this.write(bytes);
    const request = new this.#bindings.ShutdownWrap();
    request.oncomplete = ignore;
    this.#handle.shutdown(request);
  }

  /** Ends it at once, and reports nothing afterwards. Idempotent. */
  destroy(): void {
    if (this.listener === undefined) return;
    this.listener = undefined;
    this.#handle.close();
  }

  fail(status: ErrorNumber, doing: string): void {
    const listener = this.listener;
    if (listener === undefined) return;
    this.destroy();
    const error = systemError(status, doing);
    if (error.code !== END_OF_FILE) listener.onWireError(error);
    listener.onWireClosed();
  }
}

function onConnected(this: Request, status: ErrorNumber): void {
  (this as ConnectRequest).wire.connected(status);
}

function onRead(this: Handle): void {
  if (bindings) this.wire.read(bindings.streamBaseState[bindings.kReadBytesOrError] ?? 0);
}

function onWritten(this: Request, status: ErrorNumber): void {
  const { wire, bytes } = this as WriteRequest;
  if (wire && bytes) wire.writableLength -= bytes.length + WAITING_WRITE_BYTES;
  if (status !== 0) wire?.fail(status, 'write');
}

function ignore(): void {}

/** Enough for a valid address; `net.isIPv6` would run regular expressions for each connection. */
function isIPv6(address: string): boolean {
  return address.includes(':');
}

export function systemError(status: ErrorNumber, doing: string): NodeJS.ErrnoException {
  const code = getSystemErrorName(status);
  return Object.assign(new Error(`${doing}: ${code}`), { code });
}
