/**
 * The further connections of a virtual user that holds many, as a device gateway would: `connect: {count, ratePerSec}`.
 * The fleet opens them at their rate, from a portion at a time; they do what the first connection is told to do at the
 * same rate. Each is counted by itself; one that fails or drops does not end the flow.
 */
import { BATCH_SIZE } from '../fleet/fleet.ts';
import type { OpenOptions } from '../fleet/messages.ts';
import { Pacer } from '../fleet/pacer.ts';
import type { FleetConnection, Opened } from '../fleet/remote-connection.ts';
import type { EngineContext } from './engine-context.ts';
import { FlowError, slug, toFlowError } from './flow-error.ts';

/** Shorter portions would wake us too often; longer ones would be far behind when a virtual user ends. */
const MIN_AHEAD_MS = 10;
const MAX_AHEAD_MS = 100;

export class ConnectionGroup {
  readonly #engine: EngineContext;
  readonly #openings: Pacer;
  readonly #pacer: Pacer;
  /** Those that are opening, too: whoever begins to open is closed. */
  readonly #members = new Set<FleetConnection>();
  #toOpen = 0;

  constructor(engine: EngineContext, ratePerSec: number) {
    this.#engine = engine;
    // As many at once as go to one fleet process: they share a message, and no other process opens at the same time.
    const aheadMs = ((BATCH_SIZE - 1) / ratePerSec) * 1000;
    this.#openings = new Pacer(ratePerSec, Math.min(MAX_AHEAD_MS, Math.max(MIN_AHEAD_MS, aheadMs)));
    this.#pacer = new Pacer(ratePerSec);
  }

  /** @returns how many are open, when all are or have failed */
  async open(count: number, namespace: string, options: OpenOptions | undefined): Promise<number> {
    this.#expect(count);
    const openOne = async (afterMs: number) => {
      const isOpen = await this.#openOne(namespace, options, afterMs);
      if (this.#toOpen > 0) this.#expect(-1);
      return isOpen;
    };
    const opened = await Promise.all(Array.from({ length: count }, () => paced(this.#openings, openOne)));
    return opened.filter(Boolean).length;
  }

  /** Resolves when every member has done it or failed at it. */
  async each(work: (connection: FleetConnection) => Promise<unknown> | undefined): Promise<void> {
    const members = [...this.#members];
    await Promise.all(
      members.map((member) =>
        paced(this.#pacer, async () => {
          await work(member);
        }).catch((error) => this.#fail(error)),
      ),
    );
  }

  /** Those that have not begun to open never will. */
  async close(): Promise<void> {
    this.#expect(-this.#toOpen);
    this.#openings.close();
    this.#pacer.close();
    await Promise.all([...this.#members].map((member) => member.close()));
    this.#members.clear();
  }

  /** @returns false if it has failed */
  async #openOne(namespace: string, options: OpenOptions | undefined, afterMs: number): Promise<boolean> {
    const { fleet, meter } = this.#engine;
    const connection = fleet.connection();
    this.#members.add(connection);
    let isOpen = false;
    let endedEarlyBy: string | undefined;
    connection.onDrop((reason, ended = namespace) => {
      meter.count('disconnect', slug(reason));
      if (ended !== namespace) this.#fail(lossOf(reason));
      else if (isOpen) this.#lose(connection, reason);
      else endedEarlyBy = reason;
    });
    let opened: Opened;
    try {
      opened = await connection.open(namespace, options, afterMs);
    } catch (error) {
      this.#members.delete(connection);
      this.#fail(error);
      await connection.close();
      return false;
    }
    meter.count('connect');
    meter.record('connectTime', (opened.openedAtUs - opened.begunAtUs) / 1000);
    isOpen = true;
    // The news of its end may come in one message with that of its opening.
    if (endedEarlyBy !== undefined) this.#lose(connection, endedEarlyBy);
    return true;
  }

  #lose(connection: FleetConnection, reason: string): void {
    this.#members.delete(connection);
    this.#fail(lossOf(reason));
  }

  #expect(more: number): void {
    this.#toOpen += more;
    this.#engine.tally.toOpen += more;
  }

  #fail(error: unknown): void {
    const { code } = toFlowError(error);
    const { failures } = this.#engine.tally;
    failures[code] = (failures[code] ?? 0) + 1;
    this.#engine.meter.error(code);
  }
}

function lossOf(reason: string): FlowError {
  return new FlowError(`disconnected_${slug(reason)}`, `the connection was lost: ${reason}`);
}

function paced<T>(pacer: Pacer, work: (afterMs: number) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => pacer.add((afterMs) => work(afterMs).then(resolve, reject)));
}
