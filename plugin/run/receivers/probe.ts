/**
 * The Techracers study's browser page: one connection like any other that sends each broadcast back, so that the server
 * times the round trip on its own clock. Half of it is the study's propagation delay.
 */
import type { Socket } from 'socket.io-client';
import { monotonicUs } from '../../../protocol/clock.ts';
import { type Broadcast, type EchoTimed, EVENTS, type Refusal } from '../../../protocol/events.ts';
import type { ConnectionTarget } from '../../script/connection-target.ts';
import { connectOfficial, joinRoom } from './official-client.ts';

/** Where nobody publishes: no connection, and nothing to echo. */
export function noProbe(): Pick<Probe, 'join' | 'worker' | 'onRoundTrip' | 'connected' | 'leftAtUs'> {
  return { join: async () => {}, worker: '', onRoundTrip: () => {}, connected: false, leftAtUs: undefined };
}

export class Probe {
  /** Of its connection, as named in the answer to the last join. */
  worker = '';
  /** Receives round trips in microseconds; set by each measuring window. */
  onRoundTrip: (seq: number, roundTripUs: number) => void = () => {};
  /** When its connection ended other than by `close()`, on CLOCK_MONOTONIC. */
  leftAtUs: number | undefined;
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('disconnect', (reason) => {
      if (reason !== 'io client disconnect') this.leftAtUs ??= monotonicUs();
    });
    socket.on(EVENTS.broadcast, (message: Broadcast) => this.#echo(message));
  }

  /**
   * Connects through the target, as the load will.
   * @throws CapacityError TARGET_UNREACHABLE, after 10 s at the latest, or the signal's reason
   */
  static async connect(connection: ConnectionTarget, signal: AbortSignal): Promise<Probe> {
    return new Probe(await connectOfficial(connection, signal));
  }

  get connected(): boolean {
    return this.#socket.connected;
  }

  /** @throws CapacityError JOIN_REFUSED, or JOIN_TIMEOUT when the server does not know `join_room` */
  async join(room: string): Promise<void> {
    this.worker = (await joinRoom(this.#socket, room)).worker;
  }

  #echo({ seq, sentAtUs, data }: Broadcast): void {
    this.#socket.emit(EVENTS.broadcastEcho, { seq, sentAtUs, data }, (timed: EchoTimed | Refusal) => {
      if (!('error' in timed)) this.onRoundTrip(timed.seq, timed.roundTripUs);
    });
  }

  /** Idempotent. */
  close(): void {
    this.#socket.disconnect();
  }
}
