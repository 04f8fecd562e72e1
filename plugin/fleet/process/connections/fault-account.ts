/**
 * What a planned fault did to the connections of one fleet process: to those that were open when it came. Connections are
 * counted once each, however often they drop; drops, attempts and returns are counted each time.
 */
import { monotonicUs } from '../../../../protocol/clock/clock.ts';
import { createHistogram, encodeHistogram, recordUs } from '../../../../protocol/histogram.ts';
import type { FaultCounts } from '../../../../protocol/link/fault.ts';
import { OpenSeries } from '../counts/open-series.ts';
import type { ConnectionState } from './connection-state.ts';

/** Of a connection that has dropped since the fault. */
interface Fate {
  /** Of its last return; 0 while it is away. */
  backAtUs: number;
  /** Of its last drop. */
  reason: string;
  /** The process tries to bring it back. */
  returns: boolean;
}

export class FaultAccount {
  readonly #atUs: number;
  readonly #open: ReadonlySet<number>;
  readonly #fates = new Map<number, Fate>();
  readonly #drops: OpenSeries;
  readonly #attempts: OpenSeries;
  readonly #returns: OpenSeries;
  readonly #failedAttempts: Record<string, number> = {};
  readonly #recoveredBefore: number;
  #final: FaultCounts | undefined;

  /**
   * @param atUs when the fault comes
   * @param open connections that are open then
   * @param recovered sessions that the server has restored so far
   */
  constructor(atUs: number, open: Iterable<ConnectionState>, recovered: number) {
    this.#atUs = atUs;
    this.#open = new Set(Array.from(open, ({ id }) => id));
    this.#recoveredBefore = recovered;
    [this.#drops, this.#attempts, this.#returns] = [new OpenSeries(atUs), new OpenSeries(atUs), new OpenSeries(atUs)];
  }

  dropped(id: number, reason: string, returns: boolean): void {
    if (this.#final || !this.#open.has(id)) return;
    this.#drops.record(monotonicUs());
    this.#fates.set(id, { backAtUs: 0, reason, returns });
  }

  attempted(id: number): void {
    if (!this.#final && this.#fates.has(id)) this.#attempts.record(monotonicUs());
  }

  failed(id: number, cause: string): void {
    if (this.#final || !this.#fates.has(id)) return;
    this.#failedAttempts[cause] = (this.#failedAttempts[cause] ?? 0) + 1;
  }

  returned(id: number): void {
    const fate = this.#fates.get(id);
    if (this.#final || !fate) return;
    fate.backAtUs = monotonicUs();
    this.#returns.record(fate.backAtUs);
  }

  /** Whatever happens from now on is no consequence of the fault. */
  end(connections: (id: number) => ConnectionState | undefined, recovered: number): void {
    this.#final ??= this.#counts(connections, recovered);
  }

  /** @param recovered as for the constructor, now */
  read(connections: (id: number) => ConnectionState | undefined, recovered: number): FaultCounts {
    return this.#final ?? this.#counts(connections, recovered);
  }

  #counts(connections: (id: number) => ConnectionState | undefined, recovered: number): FaultCounts {
    const backUs = createHistogram();
    const notBack: Record<string, number> = {};
    // Counted by themselves, so that their sum can be checked.
    const counts = { stayed: 0, back: 0 };
    for (const id of this.#open) {
      const connection = connections(id);
      const fate = this.#fates.get(id);
      if (!fate && connection?.open) counts.stayed++;
      else if (fate && fate.backAtUs > 0 && connection?.open) {
        counts.back++;
        recordUs(backUs, fate.backAtUs - this.#atUs);
      } else {
        const cause = whyNotBack(fate, connection);
        notBack[cause] = (notBack[cause] ?? 0) + 1;
      }
    }
    return {
      connections: this.#open.size,
      ...counts,
      dropped: this.#fates.size,
      notBack,
      recovered: recovered - this.#recoveredBefore,
      backUs: encodeHistogram(backUs),
      drops: this.#drops.snapshot(),
      attempts: this.#attempts.snapshot(),
      returns: this.#returns.snapshot(),
      failedAttempts: { ...this.#failedAttempts },
    };
  }
}

function whyNotBack(fate: Fate | undefined, connection: ConnectionState | undefined): string {
  if (!fate?.returns) return fate?.reason ?? 'io client disconnect';
  if (connection?.home?.away) return 'still away';
  return connection ? 'gave up' : 'io client disconnect';
}
