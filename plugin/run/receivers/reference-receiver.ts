/**
 * The reference receiver (`sentinel` in result keys): one connection in a separate process that does nothing else. It
 * joins the room last, so its worker sends to it last. Another receiver on the same worker that reads a broadcast later
 * than the reference receiver was delayed after the server.
 */
import { addAbortListener } from 'node:events';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { CONTRACT_EVENTS, isBroadcastMessage } from '../../../protocol/wire/events.ts';
import { Fleet } from '../../fleet/fleet.ts';
import type { CloseDescription } from '../measurements/close-descriptions.ts';
import { connectClient, RUN_CLIENT_FLEET } from './connect-client.ts';
import { joinRoom } from './join-room.ts';
import type { RunClient } from './run-clients.ts';
import type { RunSocket } from './run-connection.ts';

/** Broadcasts that the reference receiver received. The list grows as broadcasts arrive. */
export interface ReferenceReceipts {
  worker: string;
  joinedAtUs: number;
  /** When the reference receiver's connection closed or its process exited. Not set if `close()` was called first. */
  leftAtUs: number | undefined;
  /** Arrival time of the first copy, by `seq`. */
  receivedAtUs: Map<number, number>;
}

export class ReferenceReceiver {
  readonly #fleet: Fleet;
  readonly #socket: RunSocket;
  readonly #receivedAtUs = new Map<number, number>();
  #receipts: ReferenceReceipts | undefined;
  #isClosing = false;

  private constructor(fleet: Fleet, socket: RunSocket) {
    this.#fleet = fleet;
    this.#socket = socket;
    socket.on(CONTRACT_EVENTS.broadcast, ([message], { atUs }) => {
      if (isBroadcastMessage(message) && !this.#receivedAtUs.has(message.seq))
        this.#receivedAtUs.set(message.seq, atUs);
    });
    void socket.ended.then(() => {
      if (this.#receipts && !this.#isClosing) this.#receipts.leftAtUs ??= monotonicUs();
    });
  }

  /**
   * Starts the process, which connects with the same options as the load.
   * @throws CapacityError TARGET_UNREACHABLE, or the signal's reason
   */
  static async start(client: RunClient, signal: AbortSignal): Promise<ReferenceReceiver> {
    const fleet = await Fleet.start(RUN_CLIENT_FLEET, 1);
    try {
      const { socket } = await connectClient(client, signal, {}, fleet);
      return new ReferenceReceiver(fleet, socket);
    } catch (error) {
      await fleet.close();
      throw error;
    }
  }

  /** Why the connection closed; undefined while it is open, or if the run closed it. */
  get ending(): CloseDescription | undefined {
    return this.#socket.ending;
  }
  get connected(): boolean {
    return this.#socket.connected;
  }

  /**
   * Joins the room.
   * @returns the received broadcasts; later broadcasts are added
   * @throws CapacityError JOIN_REFUSED or TARGET_UNREACHABLE, or the signal's reason
   */
  async join(room: string, signal: AbortSignal): Promise<ReferenceReceipts> {
    const stopped = Promise.withResolvers<never>();
    const aborted = addAbortListener(signal, () => stopped.reject(signal.reason));
    try {
      const worker = await Promise.race([joinRoom(this.#socket, room), stopped.promise]);
      const joinedAtUs = monotonicUs();
      this.#receipts = { worker, joinedAtUs, leftAtUs: undefined, receivedAtUs: this.#receivedAtUs };
      return this.#receipts;
    } catch (error) {
      // The server may still carry out the join without acknowledging it. The room would then have an extra member.
      void this.#socket.disconnect();
      throw error;
    } finally {
      aborted[Symbol.dispose]();
    }
  }

  /** Closes the connection, and resolves when the process has exited. Idempotent. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#socket.disconnect();
    await this.#fleet.close();
  }
}

/** Returns whether the reference receiver was a member of its room at that time. */
export function wasReferenceMember(sentinel: ReferenceReceipts | undefined, sentAtUs: number): boolean {
  if (!sentinel || sentinel.joinedAtUs >= sentAtUs) return false;
  return sentinel.leftAtUs === undefined || sentinel.leftAtUs >= sentAtUs;
}
