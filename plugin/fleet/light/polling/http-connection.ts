/** A kept-alive HTTP/1.1 connection of a polling session, with one request at a time. */

import { monotonicUs } from '../../../../protocol/base/clock/clock.ts';
import { MAX_PAYLOAD_BYTES } from '../../../../protocol/wire/connection.ts';
import type { ClientOptions } from '../../client/client.ts';
import { type ConnectionFailure, networkFailure } from '../../client/failure.ts';
import {
  type ExpectedResponse,
  type HttpResponse,
  type HttpResponseHead,
  HttpResponseReader,
  parseResponseHead,
} from '../http/http-response.ts';
import type { ConnectionPool } from '../pool.ts';
import { httpError } from '../protocol-error.ts';
import type { Wire, WireListener } from '../sockets/wire.ts';
import type { ServerDestination } from '../websocket/websocket-handshake.ts';

export const POLLING_RESPONSE: ExpectedResponse = { status: 200, error: httpError, readHead };

/** Failure that is reported if the connection ends before the response is complete. */
const UNANSWERED: ConnectionFailure = {
  cause: 'closed',
  message: 'the server closed the connection without a complete answer',
};

export type PollingRequestKind = 'poll' | 'post';

/** Receives the TCP and TLS events of all HTTP connections of the session. */
export type WireWatcher = Pick<WireListener, 'onTcpOpen' | 'onWireOpen'>;

export interface PollingHttpListener {
  /** Called with a response; its body is valid only during the call. */
  onAnswer(purpose: PollingRequestKind, answer: HttpResponse): void;
  onRequestFailed(failure: ConnectionFailure): void;
  /** Called with an error that was thrown while a response was read or handled. */
  onReadError(error: unknown): void;
  /** Called when the connection's send buffer is over its limit. */
  onOverflow(reason: string): void;
}

export class HttpConnection implements WireListener {
  /** Whether the connection can no longer be used. */
  isGone = false;
  readonly #listener: PollingHttpListener;
  readonly #watcher: WireWatcher;
  readonly #shared: ConnectionPool;
  readonly #destination: ServerDestination;
  readonly #options: ClientOptions;
  readonly #answer: HttpResponseReader;
  #wire: Wire | undefined = undefined;
  #isConnected = false;
  #request: { purpose: PollingRequestKind; bytes: Buffer } | undefined = undefined;
  /** Number of responses received on the current TCP connection. */
  #answered = 0;
  #error: NodeJS.ErrnoException | undefined = undefined;

  constructor(
    listener: PollingHttpListener,
    watcher: WireWatcher,
    shared: ConnectionPool,
    destination: ServerDestination,
    options: ClientOptions,
  ) {
    this.#listener = listener;
    this.#watcher = watcher;
    this.#shared = shared;
    this.#destination = destination;
    this.#options = options;
    this.#answer = new HttpResponseReader(POLLING_RESPONSE, shared.buffers);
    this.#dial();
  }

  get isIdle(): boolean {
    return this.#request === undefined && !this.isGone;
  }

  /** Sends a request. Must be called only while `isIdle`. */
  send(purpose: PollingRequestKind, bytes: Buffer): void {
    this.#request = { purpose, bytes };
    if (this.#isConnected) this.#write(bytes);
  }

  /** Closes the TCP connection. Nothing is reported afterwards. */
  destroy(): void {
    this.isGone = true;
    this.#isConnected = false;
    const wire = this.#wire;
    this.#wire = undefined;
    this.#answer.discard();
    if (wire === undefined) return;
    this.#shared.buffers.forget(wire);
    wire.destroy();
  }

  onTcpOpen(): void {
    this.#watcher.onTcpOpen();
  }

  onWireOpen(tlsResumed: boolean): void {
    this.#isConnected = true;
    this.#watcher.onWireOpen(tlsResumed);
    if (this.#request !== undefined) this.#write(this.#request.bytes);
  }

  feed(bytes: Buffer, start: number, end: number): void {
    this.#shared.receivedAtUs = monotonicUs();
    try {
      // A server can send data without a pending request, such as status 408 before it closes an idle connection.
      if (this.#request === undefined) this.destroy();
      else {
        const answer = this.#answer.read(bytes, start, end, this.#options.maxPayloadBytes ?? MAX_PAYLOAD_BYTES);
        if (answer !== undefined) this.#deliver(answer);
      }
    } catch (error) {
      this.#listener.onReadError(error);
    }
  }

  /** Keeps the error until `onWireClosed`, which follows. */
  onWireError(error: NodeJS.ErrnoException): void {
    this.#error = error;
  }

  onWireClosed(): void {
    if (this.isGone) return;
    const error = this.#error;
    this.#error = undefined;
    this.#isConnected = false;
    // If the server closed a kept-alive connection just before the request, the request is sent again, as in browsers.
    if (this.#request !== undefined && this.#answered > 0 && !this.#answer.hasBegun) this.#dial();
    else this.#end(error);
  }

  #end(error: NodeJS.ErrnoException | undefined): void {
    this.destroy();
    if (this.#request === undefined) return;
    try {
      const answer = error === undefined ? this.#answer.ended() : undefined;
      if (answer !== undefined) this.#deliver(answer);
      else this.#listener.onRequestFailed(error === undefined ? UNANSWERED : networkFailure(error));
    } catch (reading) {
      this.#listener.onReadError(reading);
    }
  }

  #dial(): void {
    this.#answered = 0;
    if (this.#wire !== undefined) this.#shared.buffers.forget(this.#wire);
    this.#wire = undefined;
    try {
      this.#wire = this.#shared.dial(this, this.#destination, this.#options);
    } catch (error) {
      // The error is reported asynchronously, because the caller has not returned yet.
      process.nextTick(() => {
        this.onWireError(error as Error);
        this.onWireClosed();
      });
    }
  }

  #write(bytes: Buffer): void {
    const wire = this.#wire;
    if (wire === undefined) return;
    wire.write(bytes);
    if (wire.writableLength > 0 && !this.#shared.buffers.countUnsent(wire)) this.#listener.onOverflow('buffers full');
  }

  #deliver(answer: HttpResponse): void {
    const purpose = this.#request?.purpose;
    this.#request = undefined;
    this.#answered++;
    if (!answer.head.keepsAlive) this.destroy();
    if (purpose !== undefined) this.#listener.onAnswer(purpose, answer);
  }
}

function readHead(text: string): HttpResponseHead {
  const head = parseResponseHead(text, httpError);
  const coding = head.headers.get('content-encoding')?.join() ?? 'identity';
  if (coding !== 'identity') throw httpError(`a response with content-encoding ${coding}, which was not requested`);
  if (head.status === 101) throw httpError('an upgrade that was not requested');
  return head;
}
