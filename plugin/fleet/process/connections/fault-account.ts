/**
 * Counts the effects of a planned fault on the connections of a fleet process that were open when the fault began. Each
 * connection counts once, even if it drops several times. Drops, reconnect attempts and reconnects are also counted
 * individually.
 */

import { monotonicUs } from '../../../../protocol/base/clock/clock.ts';
import { createHistogram, encodeHistogram, recordUs } from '../../../../protocol/base/histogram.ts';
import { addToOwnCounter } from '../../../../protocol/base/sum-counts.ts';
import type { FaultCounts } from '../../../../protocol/link/fault-messages.ts';
import { CLIENT_DISCONNECT_REASON } from '../../../../protocol/wire/connection.ts';
import { CountSeries } from '../counts/count-series.ts';

/** Fields of a connection that the counts of a planned fault read. */
interface AffectedConnection {
  readonly id: number;
  readonly open: boolean;
  /** Object that is set while the connection is dropped and will reconnect. */
  readonly away: object | undefined;
}

/** Fields of the fleet process that the fault account reads. */
interface Process {
  readonly connections: { find(id: number): AffectedConnection | undefined };
  /** @property recovered number of sessions that servers have restored so far */
  readonly returns: { counts: { readonly recovered: number } };
}

/** State of a connection that dropped after the fault. */
interface Fate {
  /** Time at which the connection last reconnected; 0 while it is dropped. */
  reconnectedAtUs: number;
  /** Reason of the last disconnect. */
  reason: string;
  /** Whether the process tries to reconnect the connection. */
  returns: boolean;
}

export class FaultAccount {
  readonly #atUs: number;
  readonly #open: ReadonlySet<number>;
  readonly #fates = new Map<number, Fate>();
  readonly #drops: CountSeries;
  readonly #attempts: CountSeries;
  readonly #returns: CountSeries;
  readonly #failedAttempts: Record<string, number> = {};
  readonly #process: Process;
  readonly #recoveredBefore: number;
  #final: FaultCounts | undefined;

  /**
   * Starts to record the effects of a fault.
   * @param atUs time of the fault
   * @param open connections that were open at that time
   */
  constructor(atUs: number, open: Iterable<AffectedConnection>, process: Process) {
    this.#atUs = atUs;
    this.#open = new Set(Array.from(open, ({ id }) => id));
    this.#process = process;
    this.#recoveredBefore = process.returns.counts.recovered;
    [this.#drops, this.#attempts, this.#returns] = [
      new CountSeries(atUs),
      new CountSeries(atUs),
      new CountSeries(atUs),
    ];
  }

  dropped(id: number, reason: string, returns: boolean): void {
    if (this.#final || !this.#open.has(id)) return;
    this.#drops.record(monotonicUs());
    this.#fates.set(id, { reconnectedAtUs: 0, reason, returns });
  }

  attempted(id: number): void {
    if (!this.#final && this.#fates.has(id)) this.#attempts.record(monotonicUs());
  }

  failed(id: number, cause: string): void {
    if (this.#final || !this.#fates.has(id)) return;
    addToOwnCounter(this.#failedAttempts, cause, 1);
  }

  returned(id: number): void {
    const fate = this.#fates.get(id);
    if (this.#final || !fate) return;
    fate.reconnectedAtUs = monotonicUs();
    this.#returns.record(fate.reconnectedAtUs);
  }

  /** Stops recording. Later events are not effects of the fault. */
  end(): void {
    this.#final ??= this.#counts();
  }

  read(): FaultCounts {
    return this.#final ?? this.#counts();
  }

  #counts(): FaultCounts {
    const reconnectUs = createHistogram();
    const notReconnected: Record<string, number> = {};
    // Connections are counted by outcome, so that the sum can be compared with the number of connections.
    const counts = { stayed: 0, reconnected: 0 };
    for (const id of this.#open) {
      const connection = this.#process.connections.find(id);
      const fate = this.#fates.get(id);
      if (!fate && connection?.open) counts.stayed++;
      else if (fate && fate.reconnectedAtUs > 0 && connection?.open) {
        counts.reconnected++;
        recordUs(reconnectUs, fate.reconnectedAtUs - this.#atUs);
      } else addToOwnCounter(notReconnected, notReconnectedCause(fate, connection), 1);
    }
    return {
      connections: this.#open.size,
      ...counts,
      dropped: this.#fates.size,
      notReconnected,
      recovered: this.#process.returns.counts.recovered - this.#recoveredBefore,
      reconnectUs: encodeHistogram(reconnectUs),
      drops: this.#drops.snapshot(),
      attempts: this.#attempts.snapshot(),
      returns: this.#returns.snapshot(),
      failedAttempts: { ...this.#failedAttempts },
    };
  }
}

function notReconnectedCause(fate: Fate | undefined, connection: AffectedConnection | undefined): string {
  if (!fate?.returns) return fate?.reason ?? CLIENT_DISCONNECT_REASON;
  if (connection?.away) return 'still away';
  return connection ? 'gave up' : CLIENT_DISCONNECT_REASON;
}
