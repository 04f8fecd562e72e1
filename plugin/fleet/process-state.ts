/** Everything that a fleet process counts and times; a reset replaces it by a new one. */
import { monotonicUs } from '../../protocol/clock.ts';
import { ConnectTimes } from './connect-times.ts';
import { ConnectionManager, type ConnectionManagerDependencies } from './connection-manager.ts';
import { type EventLoopWatch, processHealth } from './health.ts';
import { Ledger } from './ledger.ts';
import type { FleetAnswer, ProcessSnapshot } from './messages.ts';
import { type ConnectionCommand, OpenSchedule } from './open-schedule.ts';
import { OpenSeries } from './open-series.ts';

type Status = Extract<FleetAnswer, { op: 'status' }>;

export class ProcessState {
  readonly ledger: Ledger;
  readonly connections: ConnectionManager;
  readonly #connectTimes = new ConnectTimes();
  readonly #openSeries = new OpenSeries(monotonicUs());
  readonly #schedule: OpenSchedule;

  constructor(dependencies: Omit<ConnectionManagerDependencies, 'ledger' | 'connectTimes' | 'openSeries'>) {
    const ledger = new Ledger(dependencies.settings.broadcasts);
    this.ledger = ledger;
    this.connections = new ConnectionManager({
      ...dependencies,
      ledger,
      connectTimes: this.#connectTimes,
      openSeries: this.#openSeries,
    });
    this.#schedule = new OpenSchedule((command) => this.connections.run(command), dependencies.answer);
  }

  /** Runs a command for one connection, when its time has come. */
  run(command: ConnectionCommand): void {
    this.#schedule.add(command);
  }

  status(): Status {
    const { counts, joining, joined } = this.connections;
    const { connecting, connected } = counts;
    const { received, reached } = this.ledger;
    return { op: 'status', connecting, connected, joining, joined, received, reached };
  }

  snapshot(eventLoop: EventLoopWatch): ProcessSnapshot {
    const { connecting: _, ...counted } = this.connections.counts;
    return {
      ...counted,
      health: processHealth(counted.connected, eventLoop),
      connectUs: this.#connectTimes.snapshot(),
      openings: this.#openSeries.snapshot(),
      receipts: this.ledger.totals(),
    };
  }

  /** Drops all remaining connections, without reports. */
  close(): void {
    this.#schedule.close();
    this.connections.destroy();
  }
}
