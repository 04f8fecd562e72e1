/**
 * Replies in place of an engine whose host has left, using the engine's last reports. The run need not wait for the
 * engine, and sums over all engines stay complete.
 */
import { sumCounts } from '../../../protocol/base/sum-counts.ts';
import { NO_MESSAGE_COUNTS } from '../../../protocol/link/client-messages.ts';
import {
  emptyLedgerRow,
  type FreezeRequest,
  type FrozenBroadcast,
  NO_LOSSES,
} from '../../../protocol/link/ledger-messages.ts';
import type { EngineMessage, EngineReport, RunMessage } from '../../../protocol/link/link-messages.ts';
import type { FleetSnapshot, FleetStatus } from '../../../protocol/link/snapshot.ts';

export class LostEngineStandIn {
  readonly #from: EngineMessage['from'];
  #status: FleetStatus | undefined;
  #snapshot: FleetSnapshot | undefined;
  readonly #openRequests = new Map<number, RunMessage>();

  constructor(from: EngineMessage['from']) {
    this.#from = from;
  }

  noteRequest(message: RunMessage): void {
    if ('requestId' in message) this.#openRequests.set(message.requestId, message);
  }

  noteReport(report: EngineReport): void {
    if (report.type === 'status') this.#status = report.status;
    if (report.type === 'snapshot') this.#snapshot = report.snapshot;
    if ('requestId' in report) this.#openRequests.delete(report.requestId);
  }

  /**
   * Called when the host has left.
   * @param reason disconnect reason of the connections that the engine held
   * @param arrivals arrivals in the host's share; all of them count as started and failed, so that the run waits for
   * none
   * @returns the engine's final status, and replies to its unanswered requests
   */
  takeOver(reason: string, arrivals: number): EngineMessage[] {
    const last = this.#status;
    const final: FleetStatus | undefined = last && {
      ...last,
      ...{ started: arrivals, failed: arrivals, connecting: 0, connected: 0, joined: 0, holding: 0 },
      ...{ joining: 0, upgrading: 0, away: 0, loopLateMs: 0 },
      ended: sumCounts([last.ended, last.connected > 0 ? { [reason]: last.connected } : {}]),
    };
    const reports: EngineReport[] = final ? [{ type: 'status', status: final }, { type: 'gone' }] : [];
    const pending = [...this.#openRequests.values()].flatMap((message) => this.answer(message, reason));
    return [...reports.map((report) => ({ from: this.#from, ...report })), ...pending];
  }

  answer(message: RunMessage, reason: string): EngineMessage[] {
    const report = this.#answer(message, reason);
    return report ? [{ from: this.#from, ...report }] : [];
  }

  #answer(message: RunMessage, reason: string): EngineReport | undefined {
    switch (message.type) {
      case 'warm-up':
        return { type: 'warmed', requestId: message.requestId, failure: reason };
      case 'snapshot':
        return this.#snapshot && { ...message, snapshot: closedSnapshot(this.#snapshot, this.#status, reason) };
      case 'freeze': {
        const rows = message.broadcasts.map((order) => lostRow(order, this.#status?.joined ?? 0));
        return { type: 'frozen', requestId: message.requestId, rows };
      }
      case 'sight':
        return { type: 'sighted', requestId: message.requestId, sightings: [] };
      case 'messages':
        return { type: 'messages', requestId: message.requestId, counts: NO_MESSAGE_COUNTS };
      case 'events':
        return { type: 'events', requestId: message.requestId, events: [] };
      case 'fault':
        return { type: 'faulted', requestId: message.requestId };
      case 'close':
        return { type: 'closed', requestId: message.requestId };
      default:
        return undefined;
    }
  }
}

/**
 * Returns the last snapshot of a lost host, as if all its connections had closed. The host's last status is newer. If it
 * counts more connections than the snapshot, these were pending in the snapshot, or else count as `asked`, too.
 */
function closedSnapshot(snapshot: FleetSnapshot, status: FleetStatus | undefined, reason: string): FleetSnapshot {
  const { accounts, disconnects } = snapshot;
  const lost = Math.max(accounts.alive, status?.connected ?? 0);
  const newer = lost - accounts.alive;
  const pending = Math.max(0, accounts.pending - newer);
  const plus = (counts: Record<string, number>, count: number) =>
    count > 0 ? { ...counts, [reason]: (counts[reason] ?? 0) + count } : counts;
  return {
    ...snapshot,
    processes: [],
    accounts: {
      asked: accounts.asked + newer - (accounts.pending - pending),
      pending: 0,
      alive: 0,
      peak: accounts.peak,
      failed: plus(accounts.failed, pending),
      ended: plus(accounts.ended, lost),
      returned: accounts.returned,
    },
    transports: { ...snapshot.transports, websocket: snapshot.transports.websocket + newer },
    connected: 0,
    disconnects: plus(disconnects, lost),
    failures: plus(snapshot.failures, pending),
    perWorker: {},
    perSessionPrefix: {},
    // The ledger for the host's connections is lost together with the host.
    receipts: { received: 0, duplicates: 0, late: 0, unreadable: 0, unknownBroadcast: 0, open: 0, losses: NO_LOSSES },
  };
}

/**
 * Counts a broadcast as lost for all members, because it is unknown which of them received it. `assumed`: the server's
 * member count later corrects `expected`.
 */
function lostRow({ seq }: FreezeRequest, members: number): FrozenBroadcast {
  return { ...emptyLedgerRow(seq), expected: members, lostDisconnected: members, assumed: true };
}
