/** Answers for the engines of a host that has gone, with what was last known of them: nobody waits for them, and sums stay sums. */
import { sumCounts } from '../../../protocol/base/sum-counts.ts';
import { NO_MESSAGES } from '../../../protocol/link/client-messages.ts';
import { emptyRow, type FreezeOrder, type FrozenBroadcast, NO_LOSSES } from '../../../protocol/link/ledger-messages.ts';
import type { EngineMessage, EngineReport, RunMessage } from '../../../protocol/link/link-messages.ts';
import type { FleetSnapshot } from '../../../protocol/link/snapshot.ts';
import type { FleetStatus } from '../../../protocol/link/status.ts';

export class StandIn {
  readonly #from: EngineMessage['from'];
  #status: FleetStatus | undefined;
  #snapshot: FleetSnapshot | undefined;
  readonly #asked = new Map<number, RunMessage>();

  constructor(from: EngineMessage['from']) {
    this.#from = from;
  }

  noteAsked(message: RunMessage): void {
    if ('requestId' in message) this.#asked.set(message.requestId, message);
  }

  noteReport(report: EngineReport): void {
    if (report.type === 'status') this.#status = report.status;
    if (report.type === 'snapshot') this.#snapshot = report.snapshot;
    if ('requestId' in report) this.#asked.delete(report.requestId);
  }

  /**
   * The host has gone.
   * @param reason by which its connections count as ended
   * @param arrivals of its share: none of them is still to come
   * @returns its last status, and the answers to what it was asked
   */
  takeOver(reason: string, arrivals: number): EngineMessage[] {
    const before = this.#status;
    const gone: FleetStatus | undefined = before && {
      ...before,
      ...{ started: arrivals, failed: arrivals, connecting: 0, connected: 0, joined: 0, holding: 0 },
      ...{ joining: 0, upgrading: 0, away: 0, loopLateMs: 0 },
      ended: sumCounts([before.ended, before.connected > 0 ? { [reason]: before.connected } : {}]),
    };
    const reports: EngineReport[] = gone ? [{ type: 'status', status: gone }, { type: 'gone' }] : [];
    const pending = [...this.#asked.values()].flatMap((message) => this.answer(message, reason));
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
        return this.#snapshot && { ...message, snapshot: ended(this.#snapshot, this.#status, reason) };
      case 'freeze': {
        const rows = message.broadcasts.map((order) => lostRow(order, this.#status?.joined ?? 0));
        return { type: 'frozen', requestId: message.requestId, rows };
      }
      case 'sight':
        return { type: 'sighted', requestId: message.requestId, sightings: [] };
      case 'messages':
        return { type: 'messages', requestId: message.requestId, counts: NO_MESSAGES };
      case 'fault':
        return { type: 'faulted', requestId: message.requestId };
      case 'close':
        return { type: 'closed', requestId: message.requestId };
      default:
        return undefined;
    }
  }
}

/** The status is newer than the snapshot: connections that only it knows were asked for, and opened, too. */
function ended(snapshot: FleetSnapshot, status: FleetStatus | undefined, reason: string): FleetSnapshot {
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
    // What its connections received has gone with it.
    receipts: { received: 0, duplicates: 0, late: 0, unreadable: 0, neverOrdered: 0, open: 0, losses: NO_LOSSES },
  };
}

/** Nobody knows what its members received: all of it counts as lost. How many of its connections were members, the server knows. */
function lostRow({ seq }: FreezeOrder, members: number): FrozenBroadcast {
  return { ...emptyRow(seq), expected: members, lostDisconnected: members, assumed: true };
}
