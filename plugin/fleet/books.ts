/** All that a fleet process counts and times, from when the books were opened. */
import { monotonicUs } from '../../protocol/clock.ts';
import { ConnectTimes } from './connect-times.ts';
import { type ConnectionParts, Connections } from './connections.ts';
import { type EventLoopWatch, processHealth } from './health.ts';
import { Ledger } from './ledger.ts';
import type { FleetAnswer, ProcessSnapshot } from './messages.ts';
import { Openings } from './openings.ts';
import { type ConnectionCommand, Turns } from './turns.ts';

type Status = Extract<FleetAnswer, { op: 'status' }>;

export class Books {
  readonly ledger = new Ledger();
  readonly connections: Connections;
  readonly #connectTimes = new ConnectTimes();
  readonly #openings = new Openings(monotonicUs());
  readonly #turns: Turns;

  constructor(parts: Omit<ConnectionParts, 'ledger' | 'connectTimes' | 'openings'>) {
    const { ledger } = this;
    this.connections = new Connections({
      ...parts,
      ledger,
      connectTimes: this.#connectTimes,
      openings: this.#openings,
    });
    this.#turns = new Turns((command) => this.connections.run(command), parts.answer);
  }

  /** What one connection is told to do. */
  run(command: ConnectionCommand): void {
    this.#turns.take(command);
  }

  status(): Status {
    const { connecting, connected, joining, joined } = this.connections;
    return { op: 'status', connecting, connected, joining, joined, received: this.ledger.received };
  }

  snapshot(eventLoop: EventLoopWatch): ProcessSnapshot {
    const { connections, ledger } = this;
    return {
      health: processHealth(connections.connected, eventLoop),
      attempts: connections.attempts,
      opened: connections.opened,
      connected: connections.connected,
      attemptFailures: connections.attemptFailures,
      disconnects: connections.disconnects,
      perWorker: connections.perWorker,
      connectUs: this.#connectTimes.snapshot(),
      openings: this.#openings.snapshot(),
      receipts: { received: ledger.received, duplicates: ledger.duplicates, late: ledger.late, early: ledger.early },
      ignoredEvents: connections.ignoredEvents,
      receivedBytes: connections.receivedBytes,
      sentBytes: connections.sentBytes,
    };
  }

  /** Drops the connections that are still there, without a word. */
  close(): void {
    this.#turns.close();
    this.connections.destroy();
  }
}
