/** Merges the snapshots of several fleet processes: counts add up, histograms merge, nothing is averaged. */
import { addSnapshots, type FleetTotals } from '../../protocol/link/add-up.ts';
import type { FaultCounts } from '../../protocol/link/fault-messages.ts';
import type { EventLoopHealth, FleetSnapshot } from '../../protocol/link/snapshot.ts';
import type { ProcessSnapshot } from './fleet-messages.ts';

export type MergedSnapshot = FleetTotals & Pick<FleetSnapshot, 'processes'>;

interface ProcessEntry {
  index: number;
  pid: number;
  alive: boolean;
  /**
   * Whether the process answered the request for its snapshot. Otherwise the snapshot is the last one that the process
   * sent.
   */
  answers: boolean;
  snapshot: ProcessSnapshot | undefined;
}

const NO_LOOP: EventLoopHealth = { utilization: 0, delayP50Ms: 0, delayP99Ms: 0, delayMaxMs: 0, cpuWaitShare: null };

export function mergeSnapshots(entries: ProcessEntry[]): MergedSnapshot {
  return {
    processes: entries.map(({ snapshot, ...known }) => ({
      ...known,
      connections: snapshot?.connected ?? 0,
      eventLoop: snapshot?.eventLoop ?? NO_LOOP,
    })),
    ...addSnapshots(entries.flatMap(settled)),
  };
}

/**
 * Returns the process's snapshot in the form in which it is added to the total. If the process has died or does not
 * answer, receipts of broadcasts that are not final are left out, because their outcome is unknown. A dead process has
 * no connections left.
 */
function settled({ alive, answers, snapshot }: ProcessEntry): ProcessSnapshot[] {
  if (!snapshot || answers) return snapshot ? [snapshot] : [];
  const receipts = { ...snapshot.receipts, open: 0 };
  if (alive) return [{ ...snapshot, receipts }];
  const { messages, fault } = snapshot;
  return [
    {
      ...{ ...snapshot, receipts, connected: 0 },
      messages: {
        ...{ ...messages, unanswered: 0, waitingConnections: 0, skippedByServer: {} },
        lost: messages.lost + messages.unanswered,
      },
      ...(fault && { fault: ended(fault) }),
    },
  ];
}

/** Returns the effects of a fault on a dead process: all its affected connections count as not reconnected. */
function ended(fault: FaultCounts): FaultCounts {
  const { stayed, reconnected, connections } = fault;
  const notReconnected = { ...fault.notReconnected, 'fleet process died': stayed + reconnected };
  return { ...fault, stayed: 0, reconnected: 0, dropped: connections, notReconnected };
}
