/** What a connection needs only while it is being set up; released as soon as it is open. */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import type { ConnectStage } from '../../../protocol/wire/connection.ts';
import type { BufferBudget } from './buffer-budget.ts';
import { AnswerReader } from './http/http-answer.ts';
import { newChallenge, type UpgradePlan, upgradeExpected, upgradeRequest } from './websocket/websocket-handshake.ts';

export type Stage = Exclude<ConnectStage, 'total' | 'change'>;

export class Attempt {
  /** The stage under way: `tcp`, `tls` if there is any, `upgrade` (WebSocket only), then those of the layers above. */
  stage: Stage = 'tcp';
  /** By stage, microseconds from the start of the attempt to the stage's end. */
  readonly endsUs: Partial<Record<Stage, number>> = {};
  tlsResumed = false;
  /** What a connection sends that begins as WebSocket. */
  readonly request: Buffer | undefined = undefined;
  readonly answer: AnswerReader | undefined = undefined;
  readonly offersCompression: boolean = false;
  readonly #startedAtUs = monotonicUs();

  /** @param plan undefined for a connection that begins with polling */
  constructor(plan: UpgradePlan | undefined, budget: BufferBudget) {
    if (plan === undefined) return;
    const challenge = newChallenge();
    this.request = upgradeRequest(plan, challenge.key);
    this.answer = new AnswerReader(upgradeExpected(challenge), budget);
    this.offersCompression = plan.compression;
  }

  /** The stage before `next` has ended. */
  reached(next: Stage): void {
    this.endsUs[this.stage] = this.elapsedUs();
    this.stage = next;
  }

  elapsedUs(): number {
    return monotonicUs() - this.#startedAtUs;
  }
}
