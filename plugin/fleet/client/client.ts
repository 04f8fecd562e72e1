/**
 * A Socket.IO connection of the fleet. Two clients implement this interface: `light/`, which takes a few KB, and
 * `official/`, which is socket.io-client. Both make one attempt; the engine decides on retries.
 */

import { type Announced, NOTHING_ANNOUNCED } from '../../../protocol/link/ends.ts';
import type { TransportCounts } from '../../../protocol/link/snapshot.ts';
import type { ConnectionOptions } from '../../../protocol/wire/connection.ts';
import type { Failure } from './failure.ts';
import type { SeenEvent } from './seen-events.ts';

export interface ClientOptions extends ConnectionOptions {
  /** Whether to keep the data that a server with connection state recovery needs to restore the session. */
  keepsSessions?: boolean;
  /** Called once per attempt for its source port; undefined lets the kernel choose. Light client only. */
  localPort?: () => number;
}

/** Transport of a connection; `upgraded` began with polling and is WebSocket now. */
export type TransportState = keyof TransportCounts;

/** Data from which a server with connection state recovery restores the session of a namespace. */
export interface RecoverableSession {
  readonly namespace: string;
  /** Private id of the session. */
  pid: string;
  /** Offset of the last event; the server sends later events again. Undefined before the first one. */
  offset: string | undefined;
}

export const NO_SESSIONS: readonly RecoverableSession[] = [];

/** Microseconds from `connect()` to the end of each stage; undefined for a stage that the transport lacks. */
export interface ConnectTimings {
  tcpUs?: number;
  tlsUs?: number;
  upgradeUs?: number;
  openUs?: number;
  /** Microseconds to the Socket.IO CONNECT answer of the first namespace. */
  namespaceUs: number;
  /** Whether TLS resumed the session of an earlier connection. */
  tlsResumed?: boolean;
}

/** A copy of the counted event; valid only during the report. */
export interface Copy {
  /** Length of the event's JSON. */
  bytes(): number;
  /** @param size size of the payload, in characters of text or bytes of binary data; for an own event, the length of its JSON */
  hasSize(size: number): boolean;
  /** CRC-32 of the payload's text or bytes. */
  checksum(): number;
  /** Send time in the server's own format; undefined if the server sends none. */
  sentAt(): unknown;
  /** Ids of an own event at places that the options do not mention: path and example. */
  otherIds(): [path: string, id: string][];
}

/** Receives the reports of one client, for its connection. No method may throw; any of them may close the client. */
export interface ClientSink {
  /**
   * Called when a namespace is connected. `sessionId` is the Engine.IO session id. Only the first namespace has timings.
   * @param isRecovered whether the server has restored the session and sent the missed packets
   */
  onOpen(namespace: string, sessionId: string, timings: ConnectTimings | undefined, isRecovered: boolean): void;
  /** Called when the server refused a namespace, which ends only that namespace. `data` is the CONNECT_ERROR payload. */
  onRefused(namespace: string, message: string, data: unknown): void;
  /** Called when the attempt failed before any namespace was connected. */
  onFailed(failure: Failure): void;
  /** Called when a polling connection has changed to WebSocket. @param tookUs time since the Engine.IO handshake */
  onUpgraded(tookUs: number): void;
  /** Called when the connection stays on polling although the server has offered WebSocket. */
  onUpgradeFailed(failure: Failure): void;
  /** Called with a copy of the counted event. @param id a number for the wire contract's broadcast */
  onCopy(id: string | number, receivedAtUs: number, copy: Copy): void;
  /** Called for a counted event without an id. @param json received JSON, valid during the call; undefined if it is not JSON */
  onUnreadable(json?: () => string): void;
  /** Called with an event whose name is in `client.interest`. */
  onEvent(namespace: string, event: string, args: unknown[]): void;
  /** Called with an acknowledgement. The server chose the id, so it may match no message. */
  onAck(namespace: string, ackId: number, args: unknown[]): void;
  /** Called for an acknowledgement that the client itself knows to match no message. */
  onUnknownAck(): void;
  /**
   * Called when an open connection ended. `reason` is Socket.IO's: `io server disconnect`, `io client disconnect`, `ping
   * timeout`, `transport close`, `transport error`, `parse error`. If `namespace` is set, the server ended only that
   * namespace, with a DISCONNECT packet.
   * @param why further details of the transport: code and text of a close frame, or the answer to a polling request
   */
  onClosed(reason: string, namespace: string | undefined, why?: Failure): void;
}

/** Heartbeat of a connection, derived from its pings. */
export interface Heartbeat extends Announced {
  pings: number;
  /** Time of the last packet in either direction, by `performance.now()` of the client's process. */
  lastPacketAtMs: number;
}

/** State of a connection that is connecting or open. */
export type ClientState = Pick<Client, 'transport' | 'isCompressed' | 'isUpgrading' | 'heartbeat'>;

/** @param sessions sessions of the previous client, which the server may restore */
export type CreateClient = (
  options: ClientOptions,
  sink: ClientSink,
  sessions?: readonly RecoverableSession[],
) => Client;

/** A client reports nothing after `onFailed`, `destroy()`, or the `onClosed` of the whole connection. */
export interface Client {
  /** Connected namespaces; after the end, the namespaces that were connected then. */
  readonly namespaces: readonly string[];
  /**
   * Sessions that the server can restore; empty unless the server offers them and the options ask for them. They outlive the
   * client, which keeps changing them.
   */
  readonly sessions: readonly RecoverableSession[];
  /** Names of events to parse and report; undefined if there are none, the common case. */
  interest: Set<string> | undefined;
  readonly transport: TransportState;
  readonly traffic: Traffic;
  /** Heartbeat of the connection; undefined before the handshake, and for the light client. */
  readonly heartbeat?: Heartbeat | undefined;
  /** Whether the server has granted compression to the client's WebSocket. */
  readonly isCompressed: boolean;
  /** Whether the client polls, and `onUpgraded` or `onUpgradeFailed` will follow. */
  readonly isUpgrading: boolean;
  /** Opens the transport if needed, then the namespace. */
  connect(namespace: string): void;
  /** @param ackId requests an acknowledgement, which `onAck` reports; unique per client. Binary args are Uint8Arrays. */
  emit(namespace: string, event: string, args: unknown[], ackId?: number): void;
  /**
   * Sends a message that many connections send repeatedly.
   * @param ackId as for `emit`, from FIRST_REPEATED_ACK_ID on; the arguments of its acknowledgement are not reported
   * @returns false if the namespace is not connected
   */
  repeat(message: RepeatedMessage, ackId?: number): boolean;
  /** Leaves all namespaces and closes the transport with a close packet; `onClosed` follows with `io client disconnect`. */
  close(): void;
  /** Drops the TCP connection at once, without a close packet. */
  destroy(): void;
}

/** Message counts of one client, and its last received event, for the report on how its connection closed. */
export class Traffic {
  /** Number of sent Socket.IO messages. */
  sent = 0;
  received = 0;
  /** Size of the largest sent Engine.IO packet, measured as for the server's limit. */
  largestSentBytes = 0;
  announced: Announced = NOTHING_ANNOUNCED;
  lastEvent: SeenEvent | undefined = undefined;
  /** Counts events by name; undefined unless the run counts events without ids. */
  counter: { count(name: string): void; sent(name: string): void } | undefined = undefined;

  /** @param messages sent messages, each the text or the bytes of a packet without its type */
  sends(messages: readonly (string | Uint8Array)[]): void {
    for (const message of messages) {
      const isText = typeof message === 'string';
      // Measuring text takes time, so an upper bound comes first: no character has more than three bytes.
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

  /** @param event entry of the event received last; holds its text */
  receives(event: SeenEvent): void {
    this.received++;
    this.lastEvent = event;
    event.receiver = this;
    if (this.counter !== undefined) this.counter.count(event.name);
  }
}

/** A message that all connections send repeatedly, on one schedule. */
export interface RepeatedMessage {
  namespace: string;
  event: string;
  args: unknown[];
  periodUs: number;
  /** Number of copies sent back to back each time. */
  count: number;
  acknowledge: boolean;
}

/**
 * First acknowledgement id of repeated messages. All ids from here on have the same number of digits, so an id can be
 * overwritten in the bytes of a packet. Neither the engine's ids nor those of joins get this high.
 */
export const FIRST_REPEATED_ACK_ID = 1e13;
