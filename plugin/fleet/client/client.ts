/**
 * A Socket.IO connection of the fleet. Two clients implement this interface: `light/`, which costs a few KB, and `official/`, which is
 * socket.io-client. Both make one attempt; the engine decides on retries.
 */

import { type Announced, NOTHING_ANNOUNCED } from '../../../protocol/link/ends.ts';
import type { TransportCounts } from '../../../protocol/link/snapshot.ts';
import type { ConnectionOptions } from '../../../protocol/wire/connection.ts';
import type { Failure } from './failure.ts';
import type { SeenEvent } from './seen-events.ts';

export interface ClientOptions extends ConnectionOptions {
  /** Keep what a server with connection state recovery needs to restore the session. */
  keepsSessions?: boolean;
  /** Called once per attempt for its source port; undefined: the kernel chooses. Light client only. */
  localPort?: () => number;
}

/** `upgraded`: began with polling, and is WebSocket now. */
export type TransportState = keyof TransportCounts;

/** Data from which a server with connection state recovery restores the session of a namespace. */
export interface RecoverableSession {
  readonly namespace: string;
  /** Private id of the session. */
  pid: string;
  /** The last event's: what comes after it is sent again. Undefined before the first one. */
  offset: string | undefined;
}

export const NO_SESSIONS: readonly RecoverableSession[] = [];

/** Microseconds from `connect()` to the end of each stage; undefined for a stage that the transport does not have. */
export interface ConnectTimings {
  tcpUs?: number;
  tlsUs?: number;
  upgradeUs?: number;
  openUs?: number;
  /** To the Socket.IO CONNECT answer of the first namespace. */
  namespaceUs: number;
  /** TLS resumed the session of an earlier connection. */
  tlsResumed?: boolean;
}

/** A copy of the counted event; valid only during the report. */
export interface Copy {
  /** Length of the event's JSON. */
  bytes(): number;
  /** @param size of its payload, in characters of text or bytes of a binary one; of an own event, of its JSON */
  hasSize(size: number): boolean;
  /** CRC-32 of its payload's text or bytes. */
  checksum(): number;
  /** When it was sent, in whatever way the server writes it; undefined if it does not. */
  sentAt(): unknown;
  /** Ids of an own event at a place that the options do not name: the path, and an example. */
  otherIds(): [path: string, id: string][];
}

/** Receives the reports of one client: its connection. No method may throw; any of them may close the client. */
export interface ClientSink {
  /**
   * A namespace is connected. `sessionId` is the Engine.IO session id. Timings only for the first namespace.
   * @param isRecovered the server has restored the session, and sent the missed packets
   */
  onOpen(namespace: string, sessionId: string, timings: ConnectTimings | undefined, isRecovered: boolean): void;
  /** The server refused a namespace, which ends that namespace only. `data` is the CONNECT_ERROR payload. */
  onRefused(namespace: string, message: string, data: unknown): void;
  /** The attempt failed before any namespace was connected. */
  onFailed(failure: Failure): void;
  /** A polling connection goes on over WebSocket. @param tookUs since the Engine.IO handshake */
  onUpgraded(tookUs: number): void;
  /** It stays on polling, although the server has offered WebSocket. */
  onUpgradeFailed(failure: Failure): void;
  /** A copy of the counted event. @param id a number, if it is the wire contract's broadcast */
  onCopy(id: string | number, receivedAtUs: number, copy: Copy): void;
  /** The counted event without an id. @param json what arrived, during the report; undefined if that is no JSON */
  onUnreadable(json?: () => string): void;
  /** An event whose name is in `client.interest`. */
  onEvent(namespace: string, event: string, args: unknown[]): void;
  /** The server's id: the client may have sent no message with it. */
  onAck(namespace: string, ackId: number, args: unknown[]): void;
  /** An acknowledgement that the client itself knows to be of nothing that was sent. */
  onUnknownAck(): void;
  /**
   * An open connection ended. `reason` is Socket.IO's: `io server disconnect`, `io client disconnect`,
   * `ping timeout`, `transport close`, `transport error`, `parse error`. If `namespace` is set, the server ended only that
   * namespace, with a DISCONNECT packet.
   * @param why what the transport knows beside that: the code and the words of a close frame, the answer to a polling request
   */
  onClosed(reason: string, namespace: string | undefined, why?: Failure): void;
}

/** Heartbeat of a connection, from its pings. */
export interface Heartbeat extends Announced {
  pings: number;
  /** Last packet in either direction, by `performance.now()` of the client's process. */
  lastPacketAtMs: number;
}

/** State of a connection that is connecting or open. */
export type ClientState = Pick<Client, 'transport' | 'isCompressed' | 'isUpgrading' | 'heartbeat'>;

/** @param sessions of the client before, which the server may restore */
export type CreateClient = (
  options: ClientOptions,
  sink: ClientSink,
  sessions?: readonly RecoverableSession[],
) => Client;

/** Reports nothing after `onFailed`, `destroy()`, or the `onClosed` of the whole connection. */
export interface Client {
  /** Connected namespaces; after the end, the namespaces connected at that time. */
  readonly namespaces: readonly string[];
  /** Empty unless the server offers them and the options ask for them. They outlive the client, which goes on changing them. */
  readonly sessions: readonly RecoverableSession[];
  /** Names of events to parse and report. Undefined if there are none, which is the common case. */
  interest: Set<string> | undefined;
  /** While it is open. */
  readonly transport: TransportState;
  readonly traffic: Traffic;
  /** Undefined before the handshake, and for the light client. */
  readonly heartbeat?: Heartbeat | undefined;
  /** The server has granted compression to its WebSocket. */
  readonly isCompressed: boolean;
  /** It polls, and `onUpgraded` or `onUpgradeFailed` will follow. */
  readonly isUpgrading: boolean;
  /** Opens the transport if needed, then the namespace. */
  connect(namespace: string): void;
  /** @param ackId requests an acknowledgement, which `onAck` reports; unique per client. Binary args are Uint8Arrays. */
  emit(namespace: string, event: string, args: unknown[], ackId?: number): void;
  /**
   * Sends a message that many connections send again and again. @param ackId as for `emit`, from FIRST_REPEATED_ACK_ID on; the
   * arguments of its acknowledgement are not reported
   * @returns false if the namespace is not connected
   */
  repeat(message: RepeatedMessage, ackId?: number): boolean;
  /** Leaves all namespaces and closes the transport politely; `onClosed` follows with `io client disconnect`. */
  close(): void;
  /** Drops the TCP connection at once, without a close packet. */
  destroy(): void;
}

/** Counts of one client's messages, and its last received event, for the report of how its connection closed. */
export class Traffic {
  /** Socket.IO messages, in each direction. */
  sent = 0;
  received = 0;
  /** Largest Engine.IO packet that was sent, as the server's limit counts it. */
  largestSentBytes = 0;
  announced: Announced = NOTHING_ANNOUNCED;
  lastEvent: SeenEvent | undefined = undefined;
  /** Counts events by name; undefined unless the run counts events without ids. */
  counter: { count(name: string): void; sent(name: string): void } | undefined = undefined;

  /** @param messages that are sent, each as the text or the bytes of a packet without its type */
  sends(messages: readonly (string | Uint8Array)[]): void {
    for (const message of messages) {
      const isText = typeof message === 'string';
      // Measuring text takes time: no character has more than three bytes.
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

  /** @param event its text is that of the event that has just been received */
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
  /** How many of it are sent back to back each time. */
  count: number;
  acknowledge: boolean;
}

/**
 * Acknowledgement ids from here on are of messages that connections send again and again. All have as many digits, so that one
 * can be written over another in the bytes of a packet; neither the engine's ids nor those of joins get this high.
 */
export const FIRST_REPEATED_ACK_ID = 1e13;
