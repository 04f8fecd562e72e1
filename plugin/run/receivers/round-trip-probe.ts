/**
 * The probe: one connection that sends each broadcast back, so that the server measures the round trip with its own
 * clock. It corresponds to the browser page of the Techracers study, whose “propagation delay” is half the round trip.
 */

import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { CLIENT_DISCONNECT_REASON } from '../../../protocol/wire/connection.ts';
import { CONTRACT_EVENTS, type EchoAck, isBroadcastMessage } from '../../../protocol/wire/events.ts';
import type { CloseDescription } from '../measurements/close-descriptions.ts';
import { connectClient } from './connect-client.ts';
import { joinRoom } from './join-room.ts';
import type { RunClient } from './run-clients.ts';
import type { ConnectedClient, RunSocket } from './run-connection.ts';

/** A round trip that the server measured, with the probe's own times. */
export interface ProbeEcho {
  seq: number;
  /** The round trip as the worker measured it; NaN if the worker's answer has no number. */
  roundTripUs: number;
  /** When the publishing worker sent the broadcast, on that worker's clock. */
  sentAtUs: number;
  /** When the broadcast arrived, on this process's clock. */
  receivedAtUs: number;
  /** When the acknowledgement of the echo arrived, on this process's clock. */
  acknowledgedAtUs: number;
}

/** Returns a substitute for the probe, for a server that has no control ports or that refused the probe. */
export function substituteProbe(): Omit<RoundTripProbe, 'close'> {
  const state = { ending: undefined, connected: false, leftAtUs: 0, receivedAtUs: undefined };
  return { worker: '', join: async () => {}, onRoundTrip: () => {}, ...state };
}

export class RoundTripProbe {
  /**
   * Name of the worker that holds the probe's connection, from the acknowledgement of the last join; `''` if unknown.
   */
  worker = '';
  /** Called for each measured round trip. Each measurement window sets its own handler. */
  onRoundTrip: (echo: ProbeEcho) => void = () => {};
  /** When the probe's connection closed, on CLOCK_MONOTONIC. Not set if `close()` closed it. */
  leftAtUs: number | undefined;
  /** When the probe's latest broadcast arrived, on CLOCK_MONOTONIC. */
  receivedAtUs: number | undefined;
  readonly #socket: RunSocket;

  private constructor({ socket }: ConnectedClient) {
    this.#socket = socket;
    void socket.ended.then(({ reason }) => {
      if (reason !== CLIENT_DISCONNECT_REASON) this.leftAtUs ??= monotonicUs();
    });
    socket.on(CONTRACT_EVENTS.broadcast, ([message], { atUs }) => this.#echo(message, atUs));
  }

  /**
   * Connects to the target with the same options as the load.
   * @throws RefusedError; CapacityError TARGET_UNREACHABLE, or the signal's reason
   */
  static async connect(client: RunClient, signal: AbortSignal): Promise<RoundTripProbe> {
    return new RoundTripProbe(await connectClient(client, signal));
  }

  /** Why the probe's connection closed; undefined while it is open, or if the run closed it. */
  get ending(): CloseDescription | undefined {
    return this.#socket.ending;
  }

  get connected(): boolean {
    return this.#socket.connected;
  }

  /**
   * Joins a room.
   * @throws CapacityError JOIN_REFUSED or TARGET_UNREACHABLE
   */
  async join(room: string): Promise<void> {
    this.worker = await joinRoom(this.#socket, room);
  }

  #echo(message: unknown, receivedAtUs: number): void {
    if (!isBroadcastMessage(message)) return;
    this.receivedAtUs = receivedAtUs;
    const { seq, sentAtUs, data } = message;
    const onTimed = ([answer]: unknown[]) => {
      const acknowledgedAtUs = monotonicUs();
      const timed = (typeof answer === 'object' && answer !== null ? answer : {}) as Partial<EchoAck>;
      if ('error' in timed) return;
      const roundTripUs = typeof timed.roundTripUs === 'number' ? timed.roundTripUs : Number.NaN;
      this.onRoundTrip({ seq, roundTripUs, sentAtUs, receivedAtUs, acknowledgedAtUs });
    };
    // The promise rejects if the probe's connection closes. That close is recorded elsewhere.
    this.#socket.ask(CONTRACT_EVENTS.broadcastEcho, [{ seq, sentAtUs, data }]).then(onTimed, () => {});
  }

  /** Idempotent. */
  close(): Promise<void> {
    return this.#socket.disconnect();
  }
}
