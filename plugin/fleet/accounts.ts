/**
 * Accounts for every requested connection. Each connection is in exactly one state, so the sums are right even after a
 * fleet process has died with its counts: asked = pending + failed + opened, and opened = alive + ended.
 */

import { addOwn } from '../../protocol/base/sum-counts.ts';
import type { FleetSnapshot } from '../../protocol/link/snapshot.ts';

/** State of a connection; a reconnect changes it from `ended` to `alive`. */
export interface Account {
  state: 'idle' | 'pending' | 'alive' | 'failed' | 'ended';
  /** Cause of the failure or the end. */
  cause: string;
}

export type AccountCounts = Pick<FleetSnapshot, 'accounts' | 'disconnects'>;

export class Accounts {
  readonly #counts: AccountCounts['accounts'] = {
    ...{ asked: 0, pending: 0, alive: 0, peak: 0, returned: 0 },
    ...{ failed: {}, ended: {} },
  };
  /** All ends by reason, including those of connections that reconnected. */
  readonly #disconnects: Record<string, number> = {};
  /** Number of times that connections have opened, ended or returned so far. */
  changes = 0;

  /** Records the start of an attempt, the first one or a retry. */
  begin(account: Account): void {
    if (account.state === 'idle') this.#counts.asked++;
    if (account.state === 'idle' || account.state === 'failed') this.#move(account, 'pending', '');
  }

  /** Records that a namespace opened, the first one or another. For a disconnected connection, this can be the first sign of its return. */
  opened(account: Account): void {
    if (account.state === 'ended') this.returned(account);
    else if (account.state !== 'alive') this.#move(account, 'alive', '');
  }

  /** Records that an ended connection is open again. */
  returned(account: Account): void {
    if (account.state !== 'ended') return;
    this.#counts.returned++;
    this.#move(account, 'alive', '');
  }

  failed(account: Account, cause: string): void {
    if (account.state === 'pending') this.#move(account, 'failed', cause);
  }

  /** Records that either side ended the connection. A pending connection is not affected: `opened` or `failed` will follow. */
  ended(account: Account, reason: string): void {
    if (account.state !== 'alive') return;
    addOwn(this.#disconnects, reason, 1);
    this.#move(account, 'ended', reason);
  }

  read(): AccountCounts {
    const { failed, ended } = this.#counts;
    const accounts = { ...this.#counts, failed: { ...failed }, ended: { ...ended } };
    return { accounts, disconnects: { ...this.#disconnects } };
  }

  #move(account: Account, state: Account['state'], cause: string): void {
    this.#count(account, -1);
    if (state === 'alive' || state === 'ended') this.changes++;
    account.state = state;
    account.cause = cause;
    this.#count(account, 1);
    this.#counts.peak = Math.max(this.#counts.peak, this.#counts.alive);
  }

  #count({ state, cause }: Account, change: number): void {
    if (state === 'pending' || state === 'alive') this.#counts[state] += change;
    else if (state !== 'idle') addOwn(this.#counts[state], cause, change);
  }
}
