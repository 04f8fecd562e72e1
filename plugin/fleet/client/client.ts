/**
 * Interface of a Socket.IO connection of the fleet. Two clients implement it: `light/`, which takes a few KB per
 * connection, and `official/`, which is socket.io-client. A client makes a single attempt to connect; the engine
 * decides on retries.
 */

import { type HandshakeSettings, NO_HANDSHAKE_SETTINGS } from '../../../protocol/link/close-kinds.ts';
import type { TransportCounts } from '../../../protocol/link/snapshot.ts';
import type { ConnectionOptions } from '../../../protocol/wire/connection.ts';
import type { ConnectionFailure } from './failure.ts';
import type { SeenEvent } from './seen-events.ts';

export interface ClientOptions extends ConnectionOptions {
  /** Whether to keep the data that a server with connection state recovery needs to restore the session. */
  keepsSessions?: boolean;
  /**
   * Returns the source port for a connection attempt; called once per attempt. If undefined, the kernel chooses the
   * port. Only the light client supports it.
   */
  localPort?: () => number;
}

/** Transport of a connection. `upgraded` is a connection that began with polling and is a WebSocket now. */
export type TransportState = keyof TransportCounts;

/** Data from which a server with connection state recovery restores the session of a namespace. */
export interface RecoverableSession {
  readonly namespace: string;
  /** Private session id (`pid`) from the server. */
  pid: string;
  /** Offset of the last received event. The server resends all events after it. Undefined before the first event. */
  offset: string | undefined;
}

export const NO_SESSIONS: readonly RecoverableSession[] = [];

/**
 * Microseconds from `connect()` to the end of each stage of connecting; undefined for a stage that the transport lacks.
 */
export interface ConnectTimings {
  tcpUs?: number;
  tlsUs?: number;
  upgradeUs?: number;
  openUs?: number;
  /** Microseconds from `connect()` to the server's Socket.IO CONNECT packet for the first namespace. */
  namespaceUs: number;
  /** Whether TLS resumed the session of an earlier connection. */
  tlsResumed?: boolean;
}

/** A received copy of the counted event. Valid only during the call that reports it. */
export interface EventCopy {
  /** Returns the length of the event's JSON in bytes. */
  bytes(): number;
  /**
   * Returns whether the payload has the expected size.
   * @param size characters of text, or bytes of binary data; for the server's own event, the length of the event's JSON
   */
  hasSize(size: number): boolean;
  /** Returns the CRC-32 of the payload's text or bytes. */
  checksum(): number;
  /** Returns the send time that the event contains, in the server's own format; undefined if it contains none. */
  sentAt(): unknown;
  /**
   * Returns values of the server's own event that look like ids but are not at the configured path, each with its path.
   */
  otherIds(): [path: string, id: string][];
}

/**
 * Receives the events of one client on behalf of its connection. No method of this interface may throw. Every method
 * may close the client.
 */
export interface ClientSink {
  /**
   * Called when a namespace is connected. `sessionId` is the Engine.IO session id. Only the first namespace has timings.
   * @param isRecovered whether the server has restored the session and sent the missed packets
   */
  onOpen(namespace: string, sessionId: string, timings: ConnectTimings | undefined, isRecovered: boolean): void;
  /**
   * Called when the server refused a namespace. Other namespaces of the connection stay open. `data` is the
   * CONNECT_ERROR payload.
   */
  onRefused(namespace: string, message: string, data: unknown): void;
  /** Called when the connection attempt failed before any namespace was connected. */
  onFailed(failure: ConnectionFailure): void;
  /**
   * Called when a polling connection has changed to WebSocket.
   * @param tookUs microseconds since the Engine.IO handshake
   */
  onUpgraded(tookUs: number): void;
  /** Called when the connection stays on polling although the server has offered WebSocket. */
  onUpgradeFailed(failure: ConnectionFailure): void;
  /**
   * Called with a copy of the counted event.
   * @param id number of a broadcast that the run published, or text that identifies a broadcast of the server's own
   * event
   */
  onCopy(id: string | number, receivedAtUs: number, copy: EventCopy): void;
  /** Called for a counted event without an id. @param json received JSON, valid during the call; undefined if it is not JSON */
  onUnreadable(json?: () => string): void;
  /** Called with an event whose name is in `client.interest`. */
  onEvent(namespace: string, event: string, args: unknown[]): void;
  /** Called with an acknowledgement. Its id comes from the server, so it may match no sent message. */
  onAck(namespace: string, ackId: number, args: unknown[]): void;
  /** Called for an acknowledgement that matches no sent message, if the client itself detects the mismatch. */
  onUnknownAck(): void;
  /**
   * Called when an open connection ended. `reason` is Socket.IO's disconnect reason: `io server disconnect`, `io client
   * disconnect`, `ping timeout`, `transport close`, `transport error`, `parse error`. If `namespace` is set, the server
   * sent a DISCONNECT packet for this namespace only.
   * @param why details of the transport: code and text of a close frame, or the response to a polling request
   */
  onClosed(reason: string, namespace: string | undefined, why?: ConnectionFailure): void;
}

/** Heartbeat of a connection, measured from the server's pings. */
export interface Heartbeat extends HandshakeSettings {
  pings: number;
  /** Time of the last packet sent or received, in milliseconds of `performance.now()` in the client's process. */
  lastPacketAtMs: number;
}

/** State of a connection that is connecting or open. */
export type ClientState = Pick<Client, 'transport' | 'isCompressed' | 'isUpgrading' | 'heartbeat'>;

/**
 * Creates a client.
 * @param sessions sessions of the previous client, which the server may restore
 */
export type CreateClient = (
  options: ClientOptions,
  sink: ClientSink,
  sessions?: readonly RecoverableSession[],
) => Client;

/**
 * Socket.IO client of one connection. Reports nothing after `onFailed`, after `destroy()`, or after `onClosed` for the
 * whole connection.
 */
export interface Client {
  /**
   * Namespaces that are connected. After the end of the connection, the namespaces that were connected when it ended.
   */
  readonly namespaces: readonly string[];
  /**
   * Sessions that the server can restore. Empty unless the server supports connection state recovery and the options
   * enable it. The list stays valid after the client has ended.
   */
  readonly sessions: readonly RecoverableSession[];
  /**
   * Names of the events that the client parses and reports. Usually undefined, because most connections need to parse
   * no event.
   */
  interest: Set<string> | undefined;
  readonly transport: TransportState;
  readonly traffic: ClientTraffic;
  /** Heartbeat of the connection; undefined before the handshake, and for the light client. */
  readonly heartbeat?: Heartbeat | undefined;
  /** Whether the server has granted compression to the client's WebSocket. */
  readonly isCompressed: boolean;
  /** Whether the client is upgrading from polling to WebSocket. A call of `onUpgraded` or `onUpgradeFailed` follows. */
  readonly isUpgrading: boolean;
  /** Opens the namespace. Opens the transport first if needed. */
  connect(namespace: string): void;
  /**
   * Sends an event.
   * @param ackId id of the requested acknowledgement, which `onAck` reports; unique per client. Binary values in `args`
   * are Uint8Arrays.
   */
  emit(namespace: string, event: string, args: unknown[], ackId?: number): void;
  /**
   * Sends a repeated message, which many connections send on a schedule.
   * @param ackId id of the requested acknowledgement, at least FIRST_REPEATED_ACK_ID; its arguments are not reported
   * @returns false if the namespace is not connected
   */
  repeat(message: RepeatedMessage, ackId?: number): boolean;
  /**
   * Disconnects from all namespaces and closes the transport with a close packet; `onClosed` follows with `io client
   * disconnect`.
   */
  close(): void;
  /** Drops the TCP connection at once, without a close packet. */
  destroy(): void;
}

/** Message counts and last received event of one client. Reports on closed connections quote them. */
export class ClientTraffic {
  /** Number of sent Socket.IO messages. */
  sent = 0;
  received = 0;
  /**
   * Size in bytes of the largest Engine.IO packet that the client has sent, measured like the server's limit
   * `maxPayload`.
   */
  largestSentBytes = 0;
  announced: HandshakeSettings = NO_HANDSHAKE_SETTINGS;
  lastEvent: SeenEvent | undefined = undefined;
  /** Counter of events by name. Undefined unless the run counts events without ids. */
  counter: { count(name: string): void; sent(name: string): void } | undefined = undefined;

  /**
   * Counts sent messages and their sizes.
   * @param messages text or bytes of each packet, without its type
   */
  sends(messages: readonly (string | Uint8Array)[]): void {
    for (const message of messages) {
      const isText = typeof message === 'string';
      // Counting the bytes of a text is slow, so an upper bound is checked first: a character has at most three bytes.
      if ((isText ? message.length * 3 + 1 : message.length) <= this.largestSentBytes) continue;
      this.grow(isText ? Buffer.byteLength(message) + 1 : message.length);
    }
  }

  grow(bytes: number): void {
    if (bytes > this.largestSentBytes) this.largestSentBytes = bytes;
  }

  emits(event: string): void {
    this.sent++;
    if (this.counter !== undefined) this.counter.sent(event);
  }

  /**
   * Counts a received event.
   * @param event entry for the event's name, with the event's text
   */
  receives(event: SeenEvent): void {
    this.received++;
    this.lastEvent = event;
    event.receiver = this;
    if (this.counter !== undefined) this.counter.count(event.name);
  }
}

/** A message that many connections send repeatedly on one schedule. */
export interface RepeatedMessage {
  namespace: string;
  event: string;
  args: unknown[];
  periodUs: number;
  /** Number of copies of the message that a connection sends back to back in each period. */
  count: number;
  acknowledge: boolean;
}

/**
 * First acknowledgement id of repeated messages. Higher ids have the same number of digits, so the id can be
 * overwritten in an encoded packet. Acknowledgement ids of joins and of other messages stay below it.
 */
export const FIRST_REPEATED_ACK_ID = 1e13;
