/**
 * What became of every connection that was asked for. Each is in exactly one state at a time, so that the sums foot
 * whatever happens, also where a fleet process takes what it knows with it:
 * asked = pending + failed + opened, and opened = alive + ended.
 */
import type { ConnectionAccounts } from '../../protocol/link.ts';

/** Of one connection; a reconnect takes it from `ended` back to `alive`. */
export interface Account {
  state: 'idle' | 'pending' | 'alive' | 'failed' | 'ended';
  /** Why it failed or ended. */
  cause: string;
}

export class Accounts {
  #asked = 0;
  #pending = 0;
  #alive = 0;
  readonly #failed = new Map<string, number>();
  readonly #ended = new Map<string, number>();

  /** An attempt begins, the first one or a repeat. */
  begin(account: Account): void {
    if (account.state === 'idle') this.#asked++;
    // One that was lost has been opened; only its success changes that again.
    if (account.state === 'idle' || account.state === 'failed') this.#move(account, 'pending', '');
  }

  opened(account: Account): void {
    if (account.state !== 'alive') this.#move(account, 'alive', '');
  }

  failed(account: Account, cause: string): void {
    if (account.state === 'pending') this.#move(account, 'failed', cause);
  }

  /** By whoever's doing. What becomes of one that is pending, its opening reports. */
  ended(account: Account, reason: string): void {
    if (account.state === 'alive') this.#move(account, 'ended', reason);
  }

  read(): ConnectionAccounts {
    const [failed, ended] = [Object.fromEntries(this.#failed), Object.fromEntries(this.#ended)];
    return { asked: this.#asked, pending: this.#pending, alive: this.#alive, failed, ended };
  }

  #move(account: Account, state: Account['state'], cause: string): void {
    this.#count(account, -1);
    account.state = state;
    account.cause = cause;
    this.#count(account, 1);
  }

  #count({ state, cause }: Account, change: number): void {
    if (state === 'pending') this.#pending += change;
    else if (state === 'alive') this.#alive += change;
    else if (state !== 'idle') {
      const counts = state === 'failed' ? this.#failed : this.#ended;
      const count = (counts.get(cause) ?? 0) + change;
      if (count === 0) counts.delete(cause);
      else counts.set(cause, count);
    }
  }
}
