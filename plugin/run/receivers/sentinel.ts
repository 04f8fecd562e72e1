/**
 * The sentinel: one receiver with nothing else to do, in its own process. It joins the room after everybody else,
 * so that its worker serves it last. A receiver on that worker that gets a broadcast after the sentinel has not waited for
 * the server.
 */
import { addAbortListener } from 'node:events';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { EVENTS, isBroadcast } from '../../../protocol/wire/events.ts';
import { Fleet } from '../../fleet/fleet.ts';
import type { Ending } from '../measurements/end-words.ts';
import { come, OWN_FLEET } from './come.ts';
import { joinRoom } from './join-room.ts';
import type { OwnClient } from './own-clients.ts';
import type { OwnSocket } from './own-connection.ts';

/** What the sentinel has received. */
export interface SentinelReceipts {
  worker: string;
  joinedAtUs: number;
  /** Its connection, or its process, ended before `close()`. */
  leftAtUs: number | undefined;
  /** Broadcast → first receipt. */
  receivedAtUs: Map<number, number>;
}

export class Sentinel {
  readonly #fleet: Fleet;
  readonly #socket: OwnSocket;
  readonly #receivedAtUs = new Map<number, number>();
  #receipts: SentinelReceipts | undefined;
  #isClosing = false;

  private constructor(fleet: Fleet, socket: OwnSocket) {
    this.#fleet = fleet;
    this.#socket = socket;
    socket.on(EVENTS.broadcast, ([message], { atUs }) => {
      if (isBroadcast(message) && !this.#receivedAtUs.has(message.seq)) this.#receivedAtUs.set(message.seq, atUs);
    });
    void socket.ended.then(() => {
      if (this.#receipts && !this.#isClosing) this.#receipts.leftAtUs ??= monotonicUs();
    });
  }

  /**
   * Starts the process, and lets it connect as the load will.
   * @throws CapacityError TARGET_UNREACHABLE, or the signal's reason
   */
  static async start(client: OwnClient, signal: AbortSignal): Promise<Sentinel> {
    const fleet = await Fleet.start(OWN_FLEET, 1);
    try {
      const { socket } = await come(client, signal, {}, fleet);
      return new Sentinel(fleet, socket);
    } catch (error) {
      await fleet.close();
      throw error;
    }
  }

  /** How its connection ended; undefined while it is open. */
  get ending(): Ending | undefined {
    return this.#socket.ending;
  }

  /** To the target, now. */
  get connected(): boolean {
    return this.#socket.connected;
  }

  /**
   * Makes it a member of the room.
   * @returns what it sees from now on; it grows as broadcasts arrive
   * @throws CapacityError JOIN_REFUSED or TARGET_UNREACHABLE, or the signal's reason
   */
  async join(room: string, signal: AbortSignal): Promise<SentinelReceipts> {
    const stopped = Promise.withResolvers<never>();
    const aborted = addAbortListener(signal, () => stopped.reject(signal.reason));
    try {
      const worker = await Promise.race([joinRoom(this.#socket, room), stopped.promise]);
      const joinedAtUs = monotonicUs();
      this.#receipts = { worker, joinedAtUs, leftAtUs: undefined, receivedAtUs: this.#receivedAtUs };
      return this.#receipts;
    } catch (error) {
      // A join without an answer may still be carried out, and would make a member that the run does not know.
      void this.#socket.disconnect();
      throw error;
    } finally {
      aborted[Symbol.dispose]();
    }
  }

  /** Idempotent; resolves when the process is gone. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#socket.disconnect();
    await this.#fleet.close();
  }
}

/** @returns whether the server counted it among the room's members when it sent at that time */
export function isMember(sentinel: SentinelReceipts | undefined, sentAtUs: number): boolean {
  if (!sentinel || sentinel.joinedAtUs >= sentAtUs) return false;
  return sentinel.leftAtUs === undefined || sentinel.leftAtUs >= sentAtUs;
}
