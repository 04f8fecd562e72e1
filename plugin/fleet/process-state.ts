/** All that a fleet process counts and times, from when the books were opened. */
import { monotonicUs } from '../../protocol/clock.ts';
import { ConnectTimes } from './connect-times.ts';
import { type ConnectionParts, Connections } from './connections.ts';
import { type EventLoopWatch, processHealth } from './health.ts';
import { Ledger } from './ledger.ts';
import type { FleetAnswer, ProcessSnapshot } from './messages.ts';
import { type ConnectionCommand, OpenSchedule } from './open-schedule.ts';
import { OpenSeries } from './open-series.ts';

type Status = Extract<FleetAnswer, { op: 'status' }>;

export class ProcessState {
  readonly ledger: Ledger;
  readonly connections: Connections;
  readonly #connectTimes = new ConnectTimes();
  readonly #openings = new OpenSeries(monotonicUs());
  readonly #turns: OpenSchedule;

  constructor(parts: Omit<ConnectionParts, 'ledger' | 'connectTimes' | 'openings'>) {
    const ledger = new Ledger(parts.settings.broadcasts);
    this.ledger = ledger;
    this.connections = new Connections({
      ...parts,
      ledger,
      connectTimes: this.#connectTimes,
      openings: this.#openings,
    });
    this.#turns = new OpenSchedule((command) => this.connections.run(command), parts.answer);
  }

  /** What one connection is told to do. */
  run(command: ConnectionCommand): void {
    this.#turns.take(command);
  }

  status(): Status {
    const { counts, joining, joined } = this.connections;
    const { connecting, connected } = counts;
    return { op: 'status', connecting, connected, joining, joined, received: this.ledger.received };
  }

  snapshot(eventLoop: EventLoopWatch): ProcessSnapshot {
    const { connecting: _, ...counted } = this.connections.counts;
    return {
      ...counted,
      health: processHealth(counted.connected, eventLoop),
      connectUs: this.#connectTimes.snapshot(),
      openings: this.#openings.snapshot(),
      receipts: this.ledger.totals(),
    };
  }

  /** Drops the connections that are still there, without a word. */
  close(): void {
    this.#turns.close();
    this.connections.destroy();
  }
}
