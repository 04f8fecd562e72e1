/**
 * Keeps the state of every requested connection. Each connection is in exactly one state, so the totals of all states
 * are right even after a fleet process has died with its own counts: asked = pending + failed + opened, and opened =
 * alive + ended.
 */

import { addToOwnCounter } from '../../protocol/base/sum-counts.ts';
import type { FleetSnapshot } from '../../protocol/link/snapshot.ts';

/** State of a connection. A reconnect changes it from `ended` to `alive`. */
export interface ConnectionAccount {
  state: 'idle' | 'pending' | 'alive' | 'failed' | 'ended';
  /** Reason why the connection failed or ended. */
  cause: string;
}

export type AccountCounts = Pick<FleetSnapshot, 'accounts' | 'disconnects'>;

export class ConnectionAccounts {
  readonly #counts: AccountCounts['accounts'] = {
    ...{ asked: 0, pending: 0, alive: 0, peak: 0, returned: 0 },
    ...{ failed: {}, ended: {} },
  };
  /** Number of disconnects by Socket.IO's reason. Includes connections that reconnected later. */
  readonly #disconnects: Record<string, number> = {};
  /** Number of state changes of all connections so far: opens, disconnects and reconnects. */
  changes = 0;

  /** Records the start of a connection attempt: the first attempt or a retry. */
  begin(account: ConnectionAccount): void {
    if (account.state === 'idle') this.#counts.asked++;
    if (account.state === 'idle' || account.state === 'failed') this.#move(account, 'pending', '');
  }

  /**
   * Records that a namespace opened. For a disconnected connection, this call can be the first sign that it has
   * reconnected.
   */
  opened(account: ConnectionAccount): void {
    if (account.state === 'ended') this.returned(account);
    else if (account.state !== 'alive') this.#move(account, 'alive', '');
  }

  /** Records that a disconnected connection has reconnected. */
  returned(account: ConnectionAccount): void {
    if (account.state !== 'ended') return;
    this.#counts.returned++;
    this.#move(account, 'alive', '');
  }

  failed(account: ConnectionAccount, cause: string): void {
    if (account.state === 'pending') this.#move(account, 'failed', cause);
  }

  /**
   * Records that the client or the server closed the connection. Has no effect while the connection is still
   * connecting, because the attempt itself ends with a call of `opened` or `failed`.
   */
  ended(account: ConnectionAccount, reason: string): void {
    if (account.state !== 'alive') return;
    addToOwnCounter(this.#disconnects, reason, 1);
    this.#move(account, 'ended', reason);
  }

  read(): AccountCounts {
    const { failed, ended } = this.#counts;
    const accounts = { ...this.#counts, failed: { ...failed }, ended: { ...ended } };
    return { accounts, disconnects: { ...this.#disconnects } };
  }

  #move(account: ConnectionAccount, state: ConnectionAccount['state'], cause: string): void {
    this.#count(account, -1);
    if (state === 'alive' || state === 'ended') this.changes++;
    account.state = state;
    account.cause = cause;
    this.#count(account, 1);
    this.#counts.peak = Math.max(this.#counts.peak, this.#counts.alive);
  }

  #count({ state, cause }: ConnectionAccount, change: number): void {
    if (state === 'pending' || state === 'alive') this.#counts[state] += change;
    else if (state !== 'idle') addToOwnCounter(this.#counts[state], cause, change);
  }
}
