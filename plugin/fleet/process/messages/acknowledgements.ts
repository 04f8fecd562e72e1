/**
 * Pairs the server's acknowledgements with what was sent: joins, for the ledger, and whatever the engine waits for. One that
 * nobody waits for ends here, so that a server cannot fill the channel to the engine with them.
 */
import type { JoinRoom } from '../../../../protocol/events.ts';
import type { Client } from '../../client/client.ts';
import type { FleetAnswer, FleetSettings } from '../../messages.ts';
import type { ConnectionState, EmitCommand } from '../connections/connection-state.ts';
import { Joins } from '../connections/joins.ts';
import type { Counts } from '../counts/counts.ts';
import type { Ledger } from '../ledger/ledger.ts';

interface AcknowledgementsDependencies {
  ledger: Ledger;
  settings: Pick<FleetSettings, 'ledger' | 'ownEvent'>;
  counts: Counts;
  answer: (answer: FleetAnswer) => void;
}

export class Acknowledgements {
  readonly #dependencies: AcknowledgementsDependencies;
  readonly #joins: Joins;
  /** Ids by slot, so that those of a connection that ends are forgotten at once. */
  readonly #awaited = new Map<number, Set<number>>();
  /**
   * Whether session ids begin with the worker's name, as those of our own servers do: undefined until a join has named a worker,
   * and false once one has named another than the session id.
   */
  #sessionsNameWorkers: boolean | undefined;

  constructor(dependencies: AcknowledgementsDependencies) {
    this.#dependencies = dependencies;
    this.#joins = new Joins(dependencies.ledger, dependencies.settings);
  }

  get joining(): number {
    return this.#joins.joining;
  }

  get joined(): number {
    return this.#joins.joined;
  }

  /** @returns the id to send the event with; undefined if nobody needs its acknowledgement */
  request({ slot }: Client, { event, args, requestId }: EmitCommand): number | undefined {
    const ackId = this.#joins.isJoin(event) ? this.#joins.request(slot, requestId, args[0] as JoinRoom) : requestId;
    if (ackId === undefined) return undefined;
    const awaited = this.#awaited.get(slot);
    if (awaited) awaited.add(ackId);
    else this.#awaited.set(slot, new Set([ackId]));
    return ackId;
  }

  /** @param connection undefined once its client has been dropped */
  received({ slot }: Client, connection: ConnectionState | undefined, ackId: number, args: unknown[]): void {
    if (!this.#take(slot, ackId)) {
      this.#dependencies.counts.unknownAcks++;
      return;
    }
    const join = this.#joins.answered(slot, ackId, args[0]);
    if (join && 'refusedBecause' in join) {
      if (connection) this.#refuse(connection, ackId, join.refusedBecause);
      return;
    }
    if (join && connection?.open) {
      if (join.worker !== undefined) this.#name(connection, join.worker);
      // A session id of somebody else's server can begin with anything.
      this.#joins.entered(slot, join.room, connection.namedByJoin ? connection.worker : '');
    }
    if (!this.#joins.isOwnRequest(ackId)) this.#dependencies.answer({ op: 'acked', requestId: ackId, args });
  }

  /** The connection is open. */
  connected({ slot }: Client): void {
    this.#joins.connected(slot);
  }

  /** The connection is back, perhaps on another worker, and the server has restored its session: no join names the worker. */
  recovered({ slot }: Client, { worker, namedByJoin }: ConnectionState): void {
    this.#joins.recovered(slot, namedByJoin || this.#sessionsNameWorkers ? worker : '');
  }

  /** The connection has ended. */
  left({ slot }: Client): void {
    this.#awaited.delete(slot);
    this.#joins.left(slot);
  }

  #name(connection: ConnectionState, worker: string): void {
    if (!connection.namedByJoin) {
      this.#sessionsNameWorkers = this.#sessionsNameWorkers !== false && connection.worker === worker;
    }
    this.#dependencies.counts.assign(connection, worker, true);
  }

  #take(slot: number, ackId: number): boolean {
    const awaited = this.#awaited.get(slot);
    if (!awaited?.delete(ackId)) return false;
    if (awaited.size === 0) this.#awaited.delete(slot);
    return true;
  }

  /** A failed request, if the flow waits for the acknowledgement; else a report to the virtual user. */
  #refuse({ id }: ConnectionState, ackId: number, message: string): void {
    const { counts, answer } = this.#dependencies;
    counts.failed('join_refused');
    const failure = { cause: 'join_refused' as const, message };
    if (!this.#joins.isOwnRequest(ackId)) answer({ op: 'failed', requestId: ackId, ...failure });
    else answer({ op: 'refused', id, ...failure });
  }
}
