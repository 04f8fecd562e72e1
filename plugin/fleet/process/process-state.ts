/** Everything that a fleet process counts and times; a reset replaces it by a new one. */
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import type { FreezeOrder, FrozenBroadcast } from '../../../protocol/link/ledger.ts';
import type { Sightings as Report } from '../../../protocol/link/sightings.ts';
import { type EventLoopWatch, processHealth } from '../health.ts';
import type { FleetAnswer, ProcessSnapshot } from '../messages.ts';
import { amongHosts } from './among-hosts.ts';
import { ConnectionManager, type ConnectionManagerDependencies } from './connections/connection-manager.ts';
import { type ConnectionCommand, OpenSchedule } from './connections/open-schedule.ts';
import { ConnectSeries } from './counts/connect-series.ts';
import { ConnectTimes } from './counts/connect-times.ts';
import { OpenSeries } from './counts/open-series.ts';
import { Ledger } from './ledger/ledger.ts';
import { Sightings } from './ledger/sightings.ts';
import { RepeatedMessages } from './messages/repeated-messages.ts';

/** The process itself numbers the broadcasts of an own event. */
const OWN_PLAN = { count: Number.MAX_SAFE_INTEGER, contentVaries: true };

type Status = Extract<FleetAnswer, { op: 'status' }>;

export class ProcessState {
  readonly ledger: Ledger;
  readonly sightings: Sightings;
  readonly connections: ConnectionManager;
  readonly messages: RepeatedMessages;
  readonly #connectTimes = new ConnectTimes();
  readonly #openSeries = new OpenSeries(monotonicUs());
  readonly #connectSeries = new ConnectSeries(monotonicUs());
  readonly #schedule: OpenSchedule;

  constructor(
    dependencies: Omit<
      ConnectionManagerDependencies,
      'ledger' | 'sightings' | 'messages' | 'connectTimes' | 'openSeries' | 'connectSeries'
    >,
  ) {
    const { ownEvent, broadcasts } = dependencies.settings;
    const ledger = new Ledger(ownEvent ? { ...OWN_PLAN, bytes: ownEvent.bytes } : broadcasts);
    const sightings = new Sightings(ledger);
    this.ledger = ledger;
    this.sightings = sightings;
    this.messages = new RepeatedMessages(amongHosts(dependencies.share, dependencies.settings));
    this.connections = new ConnectionManager({
      ...dependencies,
      ledger,
      sightings,
      messages: this.messages,
      connectTimes: this.#connectTimes,
      openSeries: this.#openSeries,
      connectSeries: this.#connectSeries,
    });
    this.#schedule = new OpenSchedule((command) => this.connections.run(command), dependencies.answer);
  }

  /** Runs a command for one connection, when its time has come. */
  run(command: ConnectionCommand): void {
    this.#schedule.add(command);
  }

  freeze(order: FreezeOrder): Omit<FrozenBroadcast, 'process'> {
    const { seq, id, sentAtUs } = order;
    if (id === undefined) return this.ledger.freeze(order);
    return { ...this.ledger.finalize({ ...order, seq: this.sightings.finalize(id, sentAtUs) }), seq };
  }

  /** @param watch whether ids that appear from now on are counted @param outside ids that are none of the run's */
  sight(watch: boolean, outside: string[]): Report {
    this.sightings.watch(watch);
    for (const id of outside) this.ledger.discard(this.sightings.discard(id));
    return this.sightings.report();
  }

  status(): Omit<Status, 'loopLateMs'> {
    const { counts, joining, joined } = this.connections;
    const { connecting, connected, upgrading } = counts;
    const { received, reached } = this.ledger;
    const { away } = this.connections.returns;
    return { op: 'status', connecting, connected, upgrading, away, joining, joined, received, reached };
  }

  snapshot(eventLoop: EventLoopWatch): ProcessSnapshot {
    const { connecting: _, upgrading: __, ...counted } = this.connections.counts;
    return {
      ...counted,
      returns: this.connections.returns.snapshot(),
      ...this.connections.faultCounts(),
      health: processHealth(counted.connected, eventLoop),
      connectUs: this.#connectTimes.snapshot(),
      openings: this.#openSeries.snapshot(),
      connecting: this.#connectSeries.snapshot(),
      receipts: this.ledger.totals(),
      messages: this.messages.snapshot(),
    };
  }

  /** Drops all remaining connections, without reports. */
  close(): void {
    this.#schedule.close();
    this.messages.close();
    this.connections.destroy();
  }
}
