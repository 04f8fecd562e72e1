/**
 * The probe: one connection that sends each broadcast back, so that the server times the round trip on its own clock. It stands
 * for the browser page of the Techracers study, whose “propagation delay” is half the round trip.
 */

import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { OWN_DISCONNECT } from '../../../protocol/wire/connection.ts';
import { type EchoTimed, EVENTS, isBroadcast } from '../../../protocol/wire/events.ts';
import type { Ending } from '../measurements/end-words.ts';
import { connectClient } from './connect-client.ts';
import { joinRoom } from './join-room.ts';
import type { RunClient } from './run-clients.ts';
import type { ConnectedClient, RunSocket } from './run-connection.ts';

/** A round trip that the server timed, with the probe's own times of it. */
export interface Echo {
  seq: number;
  /** Measured by the worker that answered; NaN if its answer has no number. */
  roundTripUs: number;
  /** Time of the send, on the clock of the worker that published. */
  sentAtUs: number;
  /** When the broadcast arrived, on this process's clock. */
  receivedAtUs: number;
  /** When the acknowledgement of the echo arrived, on this process's clock. */
  acknowledgedAtUs: number;
}

/** Stands in for the probe if the server has no control ports or refused it. */
export function noProbe(): Omit<Probe, 'close'> {
  const state = { ending: undefined, connected: false, leftAtUs: 0, receivedAtUs: undefined };
  return { worker: '', join: async () => {}, onRoundTrip: () => {}, ...state };
}

export class Probe {
  /** Name of the worker that holds its connection, from the answer to the last join; `''` if that has none. */
  worker = '';
  /** Handler of a timed round trip; each measuring window sets its own. */
  onRoundTrip: (echo: Echo) => void = () => {};
  /** When its connection closed other than by `close()`, on CLOCK_MONOTONIC. */
  leftAtUs: number | undefined;
  /** When its last broadcast arrived, on CLOCK_MONOTONIC. */
  receivedAtUs: number | undefined;
  readonly #socket: RunSocket;

  private constructor({ socket }: ConnectedClient) {
    this.#socket = socket;
    void socket.ended.then(({ reason }) => {
      if (reason !== OWN_DISCONNECT) this.leftAtUs ??= monotonicUs();
    });
    socket.on(EVENTS.broadcast, ([message], { atUs }) => this.#echo(message, atUs));
  }

  /** Connects to the target as the load does. @throws Refused; CapacityError TARGET_UNREACHABLE, or the signal's reason */
  static async connect(client: RunClient, signal: AbortSignal): Promise<Probe> {
    return new Probe(await connectClient(client, signal));
  }

  /** Why its connection closed; undefined while it is open, or if the run closed it. */
  get ending(): Ending | undefined {
    return this.#socket.ending;
  }

  get connected(): boolean {
    return this.#socket.connected;
  }

  /** @throws CapacityError JOIN_REFUSED or TARGET_UNREACHABLE */
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
    // It rejects if the connection closes, which is recorded separately.
    this.#socket.ask(EVENTS.broadcastEcho, [{ seq, sentAtUs, data }]).then(onTimed, () => {});
  }

  /** Idempotent. */
  close(): Promise<void> {
    return this.#socket.disconnect();
  }
}
