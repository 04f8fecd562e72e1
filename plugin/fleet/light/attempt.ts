/** What is only needed while a connection is being set up; dropped as soon as its first namespace is connected. */
import { monotonicUs } from '../../../protocol/clock.ts';
import type { ClientOptions, ConnectTimings } from '../client.ts';
import { newChallenge, UpgradeResponse, upgradeRequest } from './handshake.ts';

/** What is being waited for. */
export type Stage = 'tcp' | 'upgrade' | 'open' | 'namespace';

export class Attempt {
  stage: Stage = 'tcp';
  readonly request: Buffer;
  readonly response: UpgradeResponse;
  readonly #startedAtUs = monotonicUs();
  #tcpUs = 0;
  #upgradeUs = 0;
  #openUs = 0;

  /** @throws TypeError for a URL or header that cannot be sent */
  constructor(options: ClientOptions) {
    const challenge = newChallenge();
    this.request = upgradeRequest(options, challenge.key);
    this.response = new UpgradeResponse(challenge);
  }

  /** The stage before `next` has ended. TLS counts to the upgrade. */
  reached(next: Stage): void {
    const elapsedUs = monotonicUs() - this.#startedAtUs;
    if (next === 'upgrade') this.#tcpUs = elapsedUs;
    else if (next === 'open') this.#upgradeUs = elapsedUs;
    else this.#openUs = elapsedUs;
    this.stage = next;
  }

  /** Of the whole attempt, which ends now. */
  timings(): ConnectTimings {
    const namespaceUs = monotonicUs() - this.#startedAtUs;
    return { tcpUs: this.#tcpUs, upgradeUs: this.#upgradeUs, openUs: this.#openUs, namespaceUs };
  }
}
