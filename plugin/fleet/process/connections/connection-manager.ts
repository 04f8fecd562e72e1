/** Manages the connections of one fleet process: the engine's commands go in, and the clients' reports come out. */
import type { FaultCounts, FaultOrder } from '../../../../protocol/link/fault.ts';
import type { FleetAnswer, FleetSettings } from '../../messages.ts';
import type { Pacer } from '../../pacer.ts';
import { amongHosts } from '../among-hosts.ts';
import type { ConnectSeries } from '../counts/connect-series.ts';
import type { ConnectTimes } from '../counts/connect-times.ts';
import type { Counts } from '../counts/counts.ts';
import type { OpenSeries } from '../counts/open-series.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { RoomShare } from '../ledger/room-share.ts';
import type { Sightings } from '../ledger/sightings.ts';
import type { RepeatedMessages } from '../messages/repeated-messages.ts';
import { ClientFactory, type CreateClient } from './client-factory.ts';
import { ClientReports } from './client-reports.ts';
import { ConnectionCommands } from './connection-commands.ts';
import { HeldConnections } from './held-connections.ts';
import type { ConnectionCommand } from './open-schedule.ts';
import type { Returns } from './returns.ts';

export interface ConnectionManagerDependencies {
  settings: FleetSettings;
  /** Index of this process among all fleet processes of the run. */
  share: { index: number; of: number };
  /** Of the connections that were opened since the last reset. */
  firstId: number;
  createClient: CreateClient;
  ledger: Ledger;
  sightings: Sightings;
  connectTimes: ConnectTimes;
  openSeries: OpenSeries;
  connectSeries: ConnectSeries;
  messages: RepeatedMessages;
  pacer: Pacer;
  answer: (answer: FleetAnswer) => void;
}

export class ConnectionManager {
  readonly #held: HeldConnections;
  /** Where clients report. */
  readonly reports: ClientReports;
  readonly #commands: ConnectionCommands;

  constructor(dependencies: ConnectionManagerDependencies) {
    const { settings, share } = dependencies;
    const held = new HeldConnections({
      ...dependencies,
      attempt: (connection) => this.#commands.attempt(connection),
      emit: (command) => this.#commands.emit(command),
    });
    this.#held = held;
    this.reports = new ClientReports({
      ...dependencies,
      held,
      retryPort: (connection, cause) => clients.retryPort(connection, cause),
      emit: (command) => this.#commands.emit(command),
    });
    const clients = new ClientFactory(dependencies.createClient, this.reports, settings, share);
    const rooms =
      settings.rooms && new RoomShare(settings.rooms, amongHosts(settings.fleet, settings), dependencies.firstId);
    this.#commands = new ConnectionCommands({ ...dependencies, held, clients, rooms });
  }

  get counts(): Counts {
    return this.#held.counts;
  }

  get returns(): Returns {
    return this.#held.returns;
  }

  get joining(): number {
    return this.#held.acknowledgements.joining;
  }

  get joined(): number {
    return this.#held.acknowledgements.joined;
  }

  run(command: ConnectionCommand): void {
    if (command.op === 'open') this.#commands.open(command);
    else if (command.op === 'emit') this.#commands.emit(command);
    else if (command.op === 'repeat') this.#commands.repeat(command);
    else if (command.op === 'interest') this.#commands.interest(command);
    else if (command.op === 'keep') this.#commands.keep(command);
    else if (command.op === 'close') this.#commands.close(command);
  }

  /** The begin or the end of a planned fault, which can be that all connections drop. */
  fault(order: FaultOrder): void {
    if (order.stage === 'end') {
      this.#held.endFault();
      return;
    }
    const open = this.#held.beginFault(order.atUs);
    if (!order.drop) return;
    for (const { client } of open) {
      client?.destroy();
      if (client) this.reports.onClosed(client, 'transport close', undefined);
    }
  }

  faultCounts(): { fault?: FaultCounts } {
    return this.#held.faultCounts();
  }

  /** Drops all connections at once, without reports. */
  destroy(): void {
    this.#held.destroy();
  }
}
