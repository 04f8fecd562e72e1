/** Merges the snapshots of several fleet processes: counts add up, histograms merge, nothing is averaged. */

import { CONNECT_STAGES } from '../../protocol/connection.ts';
import { mergeEncoded } from '../../protocol/histogram.ts';
import { addConnecting, addFaults, addSeries } from '../../protocol/link/add-series.ts';
import type { MessageTimes, MessageTotals } from '../../protocol/link/client-messages.ts';
import type { FaultCounts } from '../../protocol/link/fault.ts';
import type { FleetSnapshot } from '../../protocol/link/snapshot.ts';
import { sumCounts } from '../../protocol/sum-counts.ts';
import type { ProcessSnapshot } from './messages.ts';

export type MergedSnapshot = Omit<
  FleetSnapshot,
  'accounts' | 'disconnects' | 'engineLoop' | 'retries' | 'failures' | 'failureExamples'
> & {
  /** Attempts that failed, by cause (each attempt, repeats included). */
  attemptFailures: Record<string, number>;
};

/** What is known of one fleet process. */
interface ProcessEntry {
  index: number;
  pid: number;
  alive: boolean;
  /** Whether the snapshot is current; otherwise it is the last one before the process died or stopped answering. */
  answers: boolean;
  snapshot: ProcessSnapshot | undefined;
}

export function mergeSnapshots(entries: ProcessEntry[]): MergedSnapshot {
  const snapshots = entries.flatMap(({ snapshot }) => (snapshot ? [snapshot] : []));
  const sum = (value: (snapshot: ProcessSnapshot) => number) => snapshots.reduce((total, one) => total + value(one), 0);
  return {
    processes: entries.map(({ index, pid, alive, answers, snapshot }) => ({
      ...(snapshot?.health ?? unknownHealth(pid)),
      index,
      alive,
      answers,
    })),
    attempts: sum((one) => one.attempts),
    opened: sum((one) => one.opened),
    connected: entries.reduce((total, { alive, snapshot }) => total + (alive ? (snapshot?.connected ?? 0) : 0), 0),
    attemptFailures: sumCounts(snapshots.map((one) => one.attemptFailures)),
    returns: {
      dropped: sum((one) => one.returns.dropped),
      returned: sum((one) => one.returns.returned),
      recovered: sum((one) => one.returns.recovered),
      gaveUp: sum((one) => one.returns.gaveUp),
      left: sum((one) => one.returns.left),
      away: sum((one) => one.returns.away),
      retries: sum((one) => one.returns.retries),
      awayUs: mergeEncoded(snapshots.map((one) => one.returns.awayUs)),
    },
    transports: {
      websocket: sum((one) => one.transports.websocket),
      upgraded: sum((one) => one.transports.upgraded),
      polling: sum((one) => one.transports.polling),
    },
    compressed: sum((one) => one.compressed),
    upgradeFailures: sumCounts(snapshots.map((one) => one.upgradeFailures)),
    perWorker: sumCounts(snapshots.map((one) => one.perWorker)),
    perSessionPrefix: sumCounts(snapshots.map((one) => one.perSessionPrefix)),
    connectUs: Object.fromEntries(
      CONNECT_STAGES.map((stage) => [stage, mergeEncoded(snapshots.map((one) => one.connectUs[stage]))]),
    ) as FleetSnapshot['connectUs'],
    tlsResumed: sum((one) => one.tlsResumed),
    openings: addSeries(snapshots.map((one) => one.openings)),
    connecting: addConnecting(snapshots.map((one) => one.connecting)),
    ...faultOf(entries),
    receipts: {
      received: sum((one) => one.receipts.received),
      duplicates: sum((one) => one.receipts.duplicates),
      late: sum((one) => one.receipts.late),
      unreadable: sum((one) => one.receipts.unreadable),
      neverOrdered: sum((one) => one.receipts.neverOrdered),
      // Of a process that has died or is silent, nobody knows which of them the run has settled since.
      open: entries.reduce((total, { answers, snapshot }) => total + (answers ? (snapshot?.receipts.open ?? 0) : 0), 0),
    },
    messages: addMessages(entries.flatMap(messagesOf)),
    ignoredEvents: sum((one) => one.ignoredEvents),
    unknownAcks: sum((one) => one.unknownAcks),
    receivedBytes: sum((one) => one.receivedBytes),
    sentBytes: sum((one) => one.sentBytes),
  };
}

/** What a process that has died left unanswered is lost with its connections. */
function messagesOf({ alive, snapshot }: ProcessEntry): MessageTotals[] {
  if (!snapshot) return [];
  const { messages } = snapshot;
  return [alive ? messages : { ...messages, unanswered: 0, lost: messages.lost + messages.unanswered }];
}

function addMessages(all: MessageTotals[]): MessageTotals {
  const sum = (value: (one: MessageTotals) => number) => all.reduce((total, one) => total + value(one), 0);
  const times = (window: 'measured' | 'outside'): MessageTimes => ({
    sent: sum((one) => one[window].sent),
    acknowledged: sum((one) => one[window].acknowledged),
    ackUs: mergeEncoded(all.map((one) => one[window].ackUs)),
    sendDelayUs: mergeEncoded(all.map((one) => one[window].sendDelayUs)),
  });
  return {
    connections: sum((one) => one.connections),
    due: sum((one) => one.due),
    sent: sum((one) => one.sent),
    notSent: {
      missed: sum((one) => one.notSent.missed),
      disconnected: sum((one) => one.notSent.disconnected),
    },
    unasked: sum((one) => one.unasked),
    acknowledged: sum((one) => one.acknowledged),
    unanswered: sum((one) => one.unanswered),
    lost: sum((one) => one.lost),
    measured: times('measured'),
    outside: times('outside'),
  };
}

/** Whatever connections a process had that has died since: they are not back. */
function faultOf(entries: ProcessEntry[]): { fault?: FaultCounts } {
  const faults = entries.flatMap(({ alive, snapshot }) => {
    if (!snapshot?.fault) return [];
    const { fault } = snapshot;
    const { stayed, back, connections } = fault;
    if (alive) return [fault];
    const died = { ...fault.notBack, 'fleet process died': stayed + back };
    return [{ ...fault, stayed: 0, back: 0, dropped: connections, notBack: died }];
  });
  return faults.length > 0 ? { fault: addFaults(faults) } : {};
}

/** The health of a process that has never sent a snapshot. */
function unknownHealth(pid: number): ProcessSnapshot['health'] {
  const eventLoop = { utilization: 0, delayP50Ms: 0, delayP99Ms: 0, delayMaxMs: 0, cpuWaitShare: null };
  return { pid, connections: 0, cpuUs: 0, eventLoop };
}
