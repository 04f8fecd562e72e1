/** A polling session that can change to WebSocket, as engine.io-client's does: probe, pause, and then the packet `5`. */
import type { FailureCode } from '../../../../protocol/codes/failure-codes.ts';
import type { Shared } from '../shared.ts';
import type { WebSocketOptions } from '../websocket/handshake.ts';
import type { EngineIoPacket } from './payload.ts';
import { Polling, type PollingListener } from './polling.ts';
import { type PollingPlan, planProbe } from './polling-plan.ts';
import { Probe, type ProbeListener } from './probe.ts';

export interface SessionListener extends PollingListener {
  /**
   * The session goes on with the probe's WebSocket, which the listener takes over; polling has ended.
   * @param unsent packets that are still to be sent @param tookUs since the handshake
   */
  onWebSocket(probe: Probe, unsent: EngineIoPacket[], tookUs: number): void;
  /** The session stays on polling. */
  onProbeFailed(cause: FailureCode, message: string): void;
}

export class PollingSession extends Polling implements ProbeListener {
  /** The server has answered the probe: nothing more is sent by polling. */
  isChanging = false;
  /** The connection is to be closed as soon as its transport is settled. */
  closesLater = false;
  readonly #owner: SessionListener;
  #probe: Probe | undefined = undefined;

  constructor(owner: SessionListener, shared: Shared, plan: PollingPlan, options: WebSocketOptions) {
    super(owner, shared, plan, options);
    this.#owner = owner;
  }

  get isUpgrading(): boolean {
    return this.#probe !== undefined;
  }

  /** Tries to change to WebSocket. */
  upgrade(): void {
    const plan = planProbe(this.plan, this.sessionId, this.cookies.line);
    this.#probe = new Probe(this, this.shared, plan, this.options);
    this.#probe.open();
  }

  override close(): void {
    this.#dropProbe();
    super.close();
  }

  override destroy(): void {
    this.#dropProbe();
    super.destroy();
  }

  onProbed(): void {
    if (this.isChanging) return;
    this.isChanging = true;
    this.pause();
  }

  onProbeFailed(cause: FailureCode, message: string): void {
    const wasChanging = this.isChanging;
    this.#probe = undefined;
    this.isChanging = false;
    if (wasChanging) this.resume();
    this.#owner.onProbeFailed(cause, message);
  }

  protected override onPaused(): void {
    const probe = this.#probe;
    if (probe === undefined) return;
    const unsent = this.takeUnsent();
    // It is the listener's now.
    this.#probe = undefined;
    this.destroy();
    this.#owner.onWebSocket(probe, unsent, probe.elapsedUs);
  }

  #dropProbe(): void {
    this.#probe?.destroy();
    this.#probe = undefined;
  }
}
