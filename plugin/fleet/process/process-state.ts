/** Everything that a fleet process holds, counts and times; a reset replaces it by a new one. */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import type { MessageCounts, MessageStage } from '../../../protocol/link/client-messages.ts';
import type { FaultOrder } from '../../../protocol/link/fault-messages.ts';
import type { FreezeOrder, FrozenBroadcast } from '../../../protocol/link/ledger-messages.ts';
import type { Sightings as Report } from '../../../protocol/link/sightings.ts';
import type { ClientState } from '../client/client.ts';
import { EventLoopWatch } from '../event-loop-watch.ts';
import type { FleetAnswer, FleetStart, ProcessQuestions, ProcessSnapshot, SightOrder } from '../fleet-messages.ts';
import { Pacer } from '../pacer.ts';
import { Acknowledgements } from './acknowledgements.ts';
import { ClientReports } from './connections/client-reports.ts';
import { ConnectionCommands } from './connections/connection-commands.ts';
import { HeldConnections } from './connections/held-connections.ts';
import { Connecting } from './counts/connecting.ts';
import { Counts } from './counts/connection-counts.ts';
import { Ends } from './counts/end-counts.ts';
import { Ledger } from './ledger/ledger.ts';
import { Sightings } from './ledger/process-sightings.ts';
import { RepeatedMessages } from './messages/repeated-messages.ts';
import type { CreateClient, Parts, Share } from './process-parts.ts';

/** The process itself numbers the broadcasts of an own event. */
const OWN_PLAN = { count: Number.MAX_SAFE_INTEGER, contentVaries: true };

type Status = Extract<FleetAnswer, { op: 'status' }>;

export class ProcessState implements Omit<ProcessQuestions, 'reset'> {
  readonly counts = new Counts();
  readonly ledger: Ledger;
  readonly acknowledgements: Acknowledgements;
  readonly held: HeldConnections;
  readonly commands: ConnectionCommands;
  /** Where clients report. */
  readonly reports: ClientReports;
  readonly #parts: Parts;
  readonly #index: number;
  readonly #eventLoop = new EventLoopWatch();

  /** @param firstId of the connections that count from now on */
  constructor(
    { settings, index, processes }: FleetStart,
    firstId: number,
    createClient: CreateClient,
    answer: (answer: FleetAnswer) => void,
    pacer = new Pacer(settings.disconnectRatePerSec),
  ) {
    const { ownEvent, broadcasts, fleet } = settings;
    const { counts } = this;
    const ledger = new Ledger(ownEvent ? { ...OWN_PLAN, bytes: ownEvent.bytes } : broadcasts);
    const share = { index: fleet.index * processes + index, of: fleet.of * processes };
    this.#index = index;
    this.ledger = ledger;
    this.acknowledgements = new Acknowledgements(settings, { ledger, counts, answer });
    this.#parts = {
      ...{ settings, share, firstId, createClient, pacer, answer, counts, ledger },
      fleetShare: amongHosts(fleet, settings.host),
      acknowledgements: this.acknowledgements,
      sightings: new Sightings(ledger),
      messages: new RepeatedMessages(amongHosts(share, settings.host)),
      connecting: new Connecting(monotonicUs()),
      ends: new Ends(),
    };
    this.held = new HeldConnections(this.#parts, {
      attempt: (connection) => this.commands.attempt(connection),
      send: (connection, command) => this.commands.send(connection, command),
    });
    this.reports = new ClientReports(this.#parts, this.held, (command) => this.commands.emit(command));
    this.commands = new ConnectionCommands(this.#parts, this.held, this.reports);
  }

  freeze(broadcasts: FreezeOrder[]): FrozenBroadcast[] {
    const { sightings } = this.#parts;
    return broadcasts.map((order) => {
      const { seq, id, sentAtUs } = order;
      const process = this.#index;
      if (id === undefined) return { process, ...this.ledger.freeze(order) };
      return { process, ...this.ledger.finalize({ ...order, seq: sightings.finalize(id, sentAtUs) }), seq };
    });
  }

  sight({ watch, outside }: SightOrder): Report {
    const { sightings } = this.#parts;
    sightings.watch(watch);
    for (const id of outside) this.ledger.discard(sightings.discard(id));
    return sightings.report();
  }

  messages(stage: MessageStage): MessageCounts {
    return this.#parts.messages.enter(stage);
  }

  /** The begin or the end of a planned fault, which can be that all connections drop. */
  fault(order: FaultOrder): void {
    if (order.stage === 'end') {
      this.held.fault?.end();
      return;
    }
    const open = this.held.beginFault(order.atUs);
    if (!order.drop) return;
    for (const { client } of open) {
      client?.destroy();
      if (client) this.reports.onClosed(client, 'transport close', undefined);
    }
  }

  describe(id: number): ClientState | undefined {
    const { client } = this.held.find(id) ?? {};
    if (!client) return undefined;
    const { transport, isCompressed, isUpgrading, heartbeat } = client;
    return { transport, isCompressed, isUpgrading, heartbeat };
  }

  status(): Omit<Status, 'loopLateMs'> {
    const { connecting, connected, upgrading } = this.counts;
    const { received, reached } = this.ledger;
    const { joining, joined } = this.acknowledgements;
    const { away } = this.held.returns.counts;
    const { openings: opened, failedAttempts } = this.#parts.connecting;
    return {
      ...{ op: 'status', connecting, connected, opened, failedAttempts, upgrading, away },
      ...{ joining, joined, received, reached },
    };
  }

  snapshot(): ProcessSnapshot {
    const { connecting: _, upgrading: __, ...counted } = this.counts;
    const { fault, returns } = this.held;
    return {
      ...counted,
      ...this.#parts.connecting.snapshot(),
      ends: this.#parts.ends.snapshot(),
      ...(fault && { fault: fault.read() }),
      returns: returns.snapshot(),
      receipts: this.ledger.totals(),
      messages: this.#parts.messages.snapshot(),
      eventLoop: this.#eventLoop.read(),
    };
  }

  /** Drops all remaining connections, without reports. */
  close(): void {
    this.#parts.pacer.close();
    this.#eventLoop.close();
    this.#parts.messages.close();
    this.held.destroy();
  }
}

/** @param share of this host @returns the same part, of all hosts */
function amongHosts({ index, of }: Share, host: Share | undefined): Share {
  return host ? { index: host.index * of + index, of: of * host.of } : { index, of };
}
