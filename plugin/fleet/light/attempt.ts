/** What a connection needs only while it is being set up; released as soon as it is open. */
import { monotonicUs } from '../../../protocol/clock.ts';
import type { ConnectStage } from '../../../protocol/link.ts';
import { newChallenge, type UpgradePlan, UpgradeResponse, upgradeRequest } from './handshake.ts';

export type Stage = Exclude<ConnectStage, 'total'>;

export class Attempt {
  /** The stage under way: `tcp`, `upgrade`, then those of the layers above WebSocket. */
  stage: Stage = 'tcp';
  /** By stage, microseconds from the start of the attempt to the stage's end. */
  readonly endsUs: Partial<Record<Stage, number>> = {};
  readonly request: Buffer;
  readonly response: UpgradeResponse;
  readonly #startedAtUs = monotonicUs();

  constructor(plan: UpgradePlan) {
    const challenge = newChallenge();
    this.request = upgradeRequest(plan, challenge.key);
    this.response = new UpgradeResponse(challenge);
  }

  /** The stage before `next` has ended. TLS counts as part of the upgrade. */
  reached(next: Stage): void {
    this.endsUs[this.stage] = this.elapsedUs();
    this.stage = next;
  }

  elapsedUs(): number {
    return monotonicUs() - this.#startedAtUs;
  }
}
