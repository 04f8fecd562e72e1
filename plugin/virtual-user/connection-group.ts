/**
 * The further connections of a multi-connection virtual user, such as a device gateway: `connect: {count, ratePerSec}`.
 * The fleet gets them in batches and opens them at their rate; they repeat the steps of the first connection at the same
 * rate. Each is counted individually; one that fails or drops does not end the flow.
 */

import type { RepeatedMessage } from '../fleet/client/repeated-message.ts';
import { BATCH_SIZE } from '../fleet/fleet.ts';
import type { OpenOptions } from '../fleet/messages.ts';
import { Pacer } from '../fleet/pacer.ts';
import type { FleetConnection } from '../fleet/remote-connection.ts';
import { lossOf, slug, toFlowError } from './flow-error.ts';
import { countReturn } from './meter.ts';
import type { Shared } from './shared.ts';
import { countFailure } from './tally.ts';

/** Shorter batches would wake the engine too often; longer ones would open connections after the virtual user has ended. */
const MIN_AHEAD_MS = 10;
const MAX_AHEAD_MS = 100;

export class ConnectionGroup {
  readonly #shared: Shared;
  readonly #openPacer: Pacer;
  readonly #workPacer: Pacer;
  /** Includes connections that are still opening, so that these are closed as well. */
  readonly #members = new Set<FleetConnection>();
  #toOpen = 0;

  constructor(shared: Shared, ratePerSec: number) {
    this.#shared = shared;
    // One batch goes to one fleet process: its commands share a message, and no other process opens at the same time.
    const aheadMs = ((BATCH_SIZE - 1) / ratePerSec) * 1000;
    this.#openPacer = new Pacer(ratePerSec, Math.min(MAX_AHEAD_MS, Math.max(MIN_AHEAD_MS, aheadMs)));
    this.#workPacer = new Pacer(ratePerSec);
  }

  /** Resolves when every connection is open or has failed. @returns how many are open */
  async open(count: number, namespace: string, options: OpenOptions | undefined): Promise<number> {
    this.#addToOpen(count);
    const openOne = async (afterMs: number) => {
      const isOpen = await this.#openOne(namespace, options, afterMs);
      if (this.#toOpen > 0) this.#addToOpen(-1);
      return isOpen;
    };
    const opened = await Promise.all(Array.from({ length: count }, () => paced(this.#openPacer, openOne)));
    return opened.filter(Boolean).length;
  }

  /** Resolves when the work is done or has failed for every member. */
  async each(work: (connection: FleetConnection) => Promise<unknown> | undefined): Promise<void> {
    const members = [...this.#members];
    await Promise.all(
      members.map((member) =>
        paced(this.#workPacer, async () => {
          await work(member);
        }).catch((error) => this.#fail(error)),
      ),
    );
  }

  /** All members send the message from now on; their schedule spreads them. */
  repeat(message: RepeatedMessage): void {
    for (const member of this.#members) member.repeat(message);
  }

  /** Closes all members, and cancels openings that have not begun. */
  async close(): Promise<void> {
    this.#addToOpen(-this.#toOpen);
    this.#openPacer.close();
    this.#workPacer.close();
    await Promise.all([...this.#members].map((member) => member.close()));
    this.#members.clear();
  }

  /** @returns false if it has failed */
  async #openOne(namespace: string, options: OpenOptions | undefined, afterMs: number): Promise<boolean> {
    const { fleet, meter } = this.#shared;
    const connection = fleet.connection();
    this.#members.add(connection);
    let isOpen = false;
    connection.watch({
      opened: () => {
        isOpen = true;
      },
      dropped: (reason, ended = namespace, returns) => {
        meter.count('disconnect', slug(reason));
        if (returns) return;
        if (ended !== namespace) this.#fail(lossOf(reason));
        else if (isOpen) this.#lose(connection, reason);
      },
      returned: (outcome) => {
        countReturn(meter, outcome);
        if (outcome.lostBy !== undefined) this.#lose(connection, outcome.lostBy);
      },
      refused: (error) => this.#fail(error),
    });
    try {
      const { begunAtUs, openedAtUs } = await connection.open(namespace, options, afterMs);
      meter.count('connect');
      meter.record('connectTime', (openedAtUs - begunAtUs) / 1000);
      return true;
    } catch (error) {
      this.#members.delete(connection);
      this.#fail(error);
      await connection.close();
      return false;
    }
  }

  #lose(connection: FleetConnection, reason: string): void {
    this.#members.delete(connection);
    this.#fail(lossOf(reason));
  }

  #addToOpen(count: number): void {
    this.#toOpen += count;
    this.#shared.tally.toOpen += count;
  }

  #fail(error: unknown): void {
    countFailure(this.#shared, toFlowError(error));
  }
}

function paced<T>(pacer: Pacer, work: (afterMs: number) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => pacer.add((afterMs) => work(afterMs).then(resolve, reject)));
}
