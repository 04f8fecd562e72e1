/** Connections, counts and timers of a fleet process. A reset replaces the object. */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import type { MessageCounts, MessageStage } from '../../../protocol/link/client-messages.ts';
import type { FaultCommand } from '../../../protocol/link/fault-messages.ts';
import type {
  FreezeRequest,
  FrozenBroadcast,
  OwnEventSightings as Report,
} from '../../../protocol/link/ledger-messages.ts';
import type { EventCounts } from '../../../protocol/link/time-series.ts';
import { CONTRACT_EVENTS } from '../../../protocol/wire/events.ts';
import type { ClientState, CreateClient } from '../client/client.ts';
import { EventLoopWatch } from '../event-loop-watch.ts';
import type {
  FleetAnswer,
  FleetSettings,
  FleetStart,
  ProcessQuestions,
  ProcessSnapshot,
  SightingsRequest,
} from '../fleet-messages.ts';
import { RatePacer } from '../pacer.ts';
import { Acknowledgements } from './acknowledgements.ts';
import { ConnectionTable } from './connections/connection-table.ts';
import { ConnectionDialer, type ConnectionShare } from './connections/dialer.ts';
import { FaultAccount } from './connections/fault-account.ts';
import { Reconnects } from './connections/reconnects.ts';
import { CloseCounts } from './counts/close-counts.ts';
import { ConnectingCounts } from './counts/connecting.ts';
import { ConnectionCounts } from './counts/connection-counts.ts';
import { readEventCounts } from './counts/event-counts.ts';
import { Ledger } from './ledger/ledger.ts';
import { ProcessSightings } from './ledger/process-sightings.ts';
import { RoomShare } from './ledger/room-share.ts';
import { RepeatedMessages } from './messages/repeated-messages.ts';
import type { FleetProcessParts } from './process-parts.ts';

/** Plan for counting the server's own event. The process assigns the numbers of the broadcasts itself. */
const OWN_PLAN = { count: Number.MAX_SAFE_INTEGER, contentVaries: true };

type Status = Extract<FleetAnswer, { op: 'status' }>;

export class ProcessState implements FleetProcessParts, Omit<ProcessQuestions, 'reset'> {
  readonly settings: FleetSettings;
  readonly answer: (answer: FleetAnswer) => void;
  readonly pacer: RatePacer;
  readonly connections = new ConnectionTable(this);
  readonly dialer: ConnectionDialer;
  readonly counts = new ConnectionCounts();
  readonly connecting = new ConnectingCounts(monotonicUs());
  readonly ends = new CloseCounts();
  readonly ledger: Ledger;
  readonly sightings: ProcessSightings;
  readonly acknowledgements: Acknowledgements;
  readonly returns: Reconnects;
  readonly repeatedMessages: RepeatedMessages;
  readonly joinEvent: string | undefined;
  readonly rooms: RoomShare | undefined;
  faultAccount: FaultAccount | undefined;
  readonly #index: number;
  readonly #eventLoop = new EventLoopWatch();

  /**
   * Creates the state after a start or reset.
   * @param firstId number of the first connection of the run
   */
  constructor(
    { settings, index, processes }: FleetStart,
    firstId: number,
    createClient: CreateClient,
    answer: (answer: FleetAnswer) => void,
    pacer = new RatePacer(settings.disconnectRatePerSec),
  ) {
    const { ownEvent, broadcasts, fleet, host, reconnection, rooms } = settings;
    /** Share of this process among all fleet processes of this host. */
    const share = { index: fleet.index * processes + index, of: fleet.of * processes };
    this.#index = index;
    this.settings = settings;
    this.answer = answer;
    this.pacer = pacer;
    this.dialer = new ConnectionDialer(settings, share, createClient);
    this.ledger = new Ledger(ownEvent ? { ...OWN_PLAN, bytes: ownEvent.bytes } : broadcasts);
    this.sightings = new ProcessSightings(this.ledger);
    this.acknowledgements = new Acknowledgements(settings, this);
    this.returns = new Reconnects(reconnection, this.acknowledgements, answer);
    this.repeatedMessages = new RepeatedMessages(amongHosts(share, host));
    this.joinEvent = ownEvent ? ownEvent.join : CONTRACT_EVENTS.joinRoom;
    this.rooms = rooms && new RoomShare(rooms, amongHosts(fleet, host), firstId);
  }

  freeze(broadcasts: FreezeRequest[]): FrozenBroadcast[] {
    return broadcasts.map((order) => {
      const { seq, id, sentAtUs } = order;
      const process = this.#index;
      if (id === undefined) return { process, ...this.ledger.freeze(order) };
      return { process, ...this.ledger.finalize({ ...order, seq: this.sightings.finalize(id, sentAtUs) }), seq };
    });
  }

  sight({ watch, outside }: SightingsRequest): Report {
    this.sightings.watch(watch);
    for (const id of outside) this.ledger.discard(this.sightings.discard(id));
    return this.sightings.report();
  }

  events(): EventCounts[] {
    const counters = this.connections.open().flatMap(({ eventCounter }) => eventCounter ?? []);
    return readEventCounts(this.settings.countedEvents ?? [], counters);
  }

  messages(stage: MessageStage): MessageCounts {
    return this.repeatedMessages.enter(stage);
  }

  /**
   * Handles the start or the end of a planned fault. If the fault drops connections, all connections of this process
   * are dropped.
   */
  fault(order: FaultCommand): void {
    if (order.stage === 'end') {
      this.faultAccount?.end();
      return;
    }
    const open = this.connections.open();
    this.faultAccount = new FaultAccount(order.atUs, open, this);
    if (!order.drop) return;
    for (const connection of open) {
      connection.client?.destroy();
      connection.onClosed('transport close', undefined);
    }
  }

  describe(id: number): ClientState | undefined {
    return this.connections.find(id)?.describe();
  }

  status(): Omit<Status, 'loopLateMs'> {
    const { connecting, connected, upgrading } = this.counts;
    const { received, reached } = this.ledger;
    const { joining, joined } = this.acknowledgements;
    const { away } = this.returns.counts;
    const { openings: opened, failedAttempts } = this.connecting;
    return {
      ...{ op: 'status', connecting, connected, opened, failedAttempts, upgrading, away },
      ...{ joining, joined, received, reached },
    };
  }

  snapshot(): ProcessSnapshot {
    const { connecting: _, upgrading: __, ...counted } = this.counts;
    return {
      ...counted,
      ...this.connecting.snapshot(),
      ends: this.ends.snapshot(),
      ...(this.faultAccount && { fault: this.faultAccount.read() }),
      returns: this.returns.snapshot(),
      receipts: this.ledger.totals(),
      messages: this.repeatedMessages.snapshot(),
      eventLoop: this.#eventLoop.read(),
    };
  }

  /** Drops all remaining connections, and reports nothing. */
  close(): void {
    this.pacer.close();
    this.#eventLoop.close();
    this.repeatedMessages.close();
    this.returns.close();
    this.connections.destroy();
  }
}

/**
 * Converts a process's share of this host's connections to its share of the run's connections.
 * @param share share among the processes of this host
 * @returns the share among the processes of all hosts
 */
function amongHosts({ index, of }: ConnectionShare, host: ConnectionShare | undefined): ConnectionShare {
  return host ? { index: host.index * of + index, of: of * host.of } : { index, of };
}
