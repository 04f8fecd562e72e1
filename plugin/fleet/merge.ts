/** Merges the snapshots of several fleet processes: counts add up, histograms merge, nothing is averaged. */
import { CONNECT_STAGES } from '../../protocol/connection.ts';
import { mergeEncoded } from '../../protocol/histogram.ts';
import { addConnecting, addSeries, addUp } from '../../protocol/link/add-up.ts';
import { addEnds } from '../../protocol/link/ends.ts';
import type { FaultCounts } from '../../protocol/link/fault.ts';
import type { EventLoopHealth } from '../../protocol/link/health.ts';
import type { FleetSnapshot } from '../../protocol/link/snapshot.ts';
import type { ProcessSnapshot } from './messages.ts';

export type MergedSnapshot = Omit<ProcessSnapshot, 'eventLoop'> & Pick<FleetSnapshot, 'processes'>;

/** What is known of one fleet process. */
interface ProcessEntry {
  index: number;
  pid: number;
  alive: boolean;
  /** Whether the snapshot is current; otherwise it is the last one before the process died or stopped answering. */
  answers: boolean;
  snapshot: ProcessSnapshot | undefined;
}

const NO_TIMES = { sent: 0, acknowledged: 0, ackUs: mergeEncoded([]), sendDelayUs: mergeEncoded([]) };
const NO_LOOP: EventLoopHealth = { utilization: 0, delayP50Ms: 0, delayP99Ms: 0, delayMaxMs: 0, cpuWaitShare: null };

/** What adds up by itself. */
const NOTHING = {
  connected: 0,
  returns: { dropped: 0, returned: 0, recovered: 0, gaveUp: 0, left: 0, away: 0, retries: 0, awayUs: mergeEncoded([]) },
  transports: { websocket: 0, upgraded: 0, polling: 0 },
  compressed: 0,
  upgradeFailures: {},
  perWorker: {},
  perSessionPrefix: {},
  connectUs: Object.fromEntries(CONNECT_STAGES.map((stage) => [stage, mergeEncoded([])])) as FleetSnapshot['connectUs'],
  tlsResumed: 0,
  receipts: { received: 0, duplicates: 0, late: 0, unreadable: 0, neverOrdered: 0, open: 0 },
  messages: {
    ...{ connections: 0, due: 0, sent: 0, notSent: { missed: 0, disconnected: 0 } },
    ...{ unasked: 0, acknowledged: 0, unanswered: 0, lost: 0, measured: NO_TIMES, outside: NO_TIMES },
  },
  unknownAcks: 0,
};

export function mergeSnapshots(entries: ProcessEntry[]): MergedSnapshot {
  const snapshots = entries.flatMap(settled);
  const faults = snapshots.flatMap(({ fault }) => fault ?? []);
  return {
    processes: entries.map(({ snapshot, ...known }) => ({
      ...known,
      connections: snapshot?.connected ?? 0,
      eventLoop: snapshot?.eventLoop ?? NO_LOOP,
    })),
    ...addUp(snapshots, NOTHING),
    ends: addEnds(snapshots.map(({ ends }) => ends)),
    openings: addSeries(snapshots.map(({ openings }) => openings)),
    connecting: addConnecting(snapshots.map(({ connecting }) => connecting)),
    ...(faults.length > 0 && { fault: addUp(faults) }),
  };
}

/** @returns the snapshot as far as it still holds: what a process that died or fell silent had left open is unknown */
function settled({ alive, answers, snapshot }: ProcessEntry): ProcessSnapshot[] {
  if (!snapshot || answers) return snapshot ? [snapshot] : [];
  const receipts = { ...snapshot.receipts, open: 0 };
  if (alive) return [{ ...snapshot, receipts }];
  const { messages, fault } = snapshot;
  return [
    {
      ...{ ...snapshot, receipts, connected: 0 },
      messages: { ...messages, unanswered: 0, lost: messages.lost + messages.unanswered },
      ...(fault && { fault: ended(fault) }),
    },
  ];
}

/** Its connections are not back. */
function ended(fault: FaultCounts): FaultCounts {
  const { stayed, back, connections } = fault;
  const notBack = { ...fault.notBack, 'fleet process died': stayed + back };
  return { ...fault, stayed: 0, back: 0, dropped: connections, notBack };
}
