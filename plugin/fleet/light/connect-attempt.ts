/** State of a connection attempt. It is released once the connection is open. */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import type { ConnectStage } from '../../../protocol/wire/connection.ts';
import type { BufferBudget } from './buffer-budget.ts';
import { HttpResponseReader } from './http/http-response.ts';
import {
  expectedUpgradeResponse,
  newChallenge,
  type UpgradePlan,
  upgradeRequest,
} from './websocket/websocket-handshake.ts';

export type ConnectAttemptStage = Exclude<ConnectStage, 'total' | 'change'>;

export class ConnectAttempt {
  /**
   * Current stage of the attempt: `tcp`, `tls` if used, `upgrade` for WebSocket, then `open` (Engine.IO) and
   * `namespace` (Socket.IO).
   */
  stage: ConnectAttemptStage = 'tcp';
  /** Time in microseconds from the start of the attempt to the end of each stage. */
  readonly endsUs: Partial<Record<ConnectAttemptStage, number>> = {};
  tlsResumed = false;
  /** WebSocket upgrade request. Undefined if the connection begins with polling. */
  readonly request: Buffer | undefined = undefined;
  readonly answer: HttpResponseReader | undefined = undefined;
  readonly offersCompression: boolean = false;
  readonly #startedAtUs = monotonicUs();

  /**
   * Starts an attempt.
   * @param plan data of the WebSocket upgrade request; undefined if the connection begins with polling
   */
  constructor(plan: UpgradePlan | undefined, budget: BufferBudget) {
    if (plan === undefined) return;
    const challenge = newChallenge();
    this.request = upgradeRequest(plan, challenge.key);
    this.answer = new HttpResponseReader(expectedUpgradeResponse(challenge), budget);
    this.offersCompression = plan.compression;
  }

  beginStage(next: ConnectAttemptStage): void {
    this.endsUs[this.stage] = this.elapsedUs();
    this.stage = next;
  }

  elapsedUs(): number {
    return monotonicUs() - this.#startedAtUs;
  }
}
