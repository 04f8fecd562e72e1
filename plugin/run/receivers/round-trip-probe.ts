/**
 * The Techracers study's browser page: one connection like any other that sends each broadcast back, so that the server
 * times the round trip on its own clock. Half of it is the study's propagation delay.
 */

import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { OWN_DISCONNECT } from '../../../protocol/wire/connection.ts';
import { type EchoTimed, EVENTS, isBroadcast } from '../../../protocol/wire/events.ts';
import type { Ending } from '../measurements/end-words.ts';
import { come } from './come.ts';
import { joinRoom } from './join-room.ts';
import type { OwnClient } from './own-clients.ts';
import type { Came, OwnSocket } from './own-connection.ts';

/** A broadcast that the server has timed, with what the probe itself knows of it. */
export interface Echo {
  seq: number;
  /** By the clock of the worker that answered; NaN if it is no number. */
  roundTripUs: number;
  /** By the clock of the worker that published. */
  sentAtUs: number;
  /** The broadcast, and the acknowledgement of its echo, on our clock. */
  receivedAtUs: number;
  acknowledgedAtUs: number;
}

/** Where nobody publishes, or the server lets none in: no connection, and nothing to echo. */
export function noProbe(): Omit<Probe, 'close'> {
  const isNoMember = { ending: undefined, connected: false, leftAtUs: 0, receivedAtUs: undefined };
  return { worker: '', join: async () => {}, onRoundTrip: () => {}, ...isNoMember };
}

export class Probe {
  /** Which one holds its connection, as the answer to the last join says; `''` if that names none. */
  worker = '';
  /** Set by each measuring window. */
  onRoundTrip: (echo: Echo) => void = () => {};
  /** When its connection ended other than by `close()`, on CLOCK_MONOTONIC. */
  leftAtUs: number | undefined;
  /** Its last broadcast, likewise. */
  receivedAtUs: number | undefined;
  readonly #socket: OwnSocket;

  private constructor({ socket }: Came) {
    this.#socket = socket;
    void socket.ended.then(({ reason }) => {
      if (reason !== OWN_DISCONNECT) this.leftAtUs ??= monotonicUs();
    });
    socket.on(EVENTS.broadcast, ([message], { atUs }) => this.#echo(message, atUs));
  }

  /**
   * Comes through the target, as the load will.
   * @throws Refused; CapacityError TARGET_UNREACHABLE, or the signal's reason
   */
  static async connect(client: OwnClient, signal: AbortSignal): Promise<Probe> {
    return new Probe(await come(client, signal));
  }

  /** How its connection ended; undefined while it is open. */
  get ending(): Ending | undefined {
    return this.#socket.ending;
  }

  get connected(): boolean {
    return this.#socket.connected;
  }

  /** @throws CapacityError JOIN_REFUSED when the server does not know `join_room` */
  async join(room: string): Promise<void> {
    this.worker = await joinRoom(this.#socket, room);
  }

  #echo(message: unknown, receivedAtUs: number): void {
    if (!isBroadcast(message)) return;
    this.receivedAtUs = receivedAtUs;
    const { seq, sentAtUs, data } = message;
    const onTimed = ([answer]: unknown[]) => {
      const acknowledgedAtUs = monotonicUs();
      const timed = (typeof answer === 'object' && answer !== null ? answer : {}) as Partial<EchoTimed>;
      if ('error' in timed) return;
      const roundTripUs = typeof timed.roundTripUs === 'number' ? timed.roundTripUs : Number.NaN;
      this.onRoundTrip({ seq, roundTripUs, sentAtUs, receivedAtUs, acknowledgedAtUs });
    };
    // The end of the connection is noted by itself.
    this.#socket.ask(EVENTS.broadcastEcho, [{ seq, sentAtUs, data }]).then(onTimed, () => {});
  }

  /** Idempotent. */
  close(): Promise<void> {
    return this.#socket.disconnect();
  }
}
