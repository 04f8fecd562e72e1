/** Sums the snapshots of a fleet's processes or a run's engines. */

import { mergeEncoded } from '../base/histogram.ts';
import { CONNECT_STAGES } from '../wire/connection.ts';
import { addConnecting, addSeries, addUp } from './add-up.ts';
import { addEnds } from './ends.ts';
import { NO_LOSSES } from './ledger-messages.ts';
import type { FleetSnapshot } from './snapshot.ts';

export type FleetTotals = Omit<FleetSnapshot, 'processes' | 'still' | 'engineLoop' | 'failureExamples'>;

type Summand = Partial<FleetTotals> & Pick<FleetTotals, 'ends' | 'openings' | 'connecting'>;

const NO_TIMES = { sent: 0, acknowledged: 0, ackUs: mergeEncoded([]), sendDelayUs: mergeEncoded([]) };

/** Zero values of all fields that `addUp` sums. */
const ZERO = {
  accounts: { asked: 0, pending: 0, alive: 0, peak: 0, failed: {}, ended: {}, returned: 0 },
  connected: 0,
  failures: {},
  otherUsers: { started: 0, ended: 0, failures: {} },
  http: { requests: 0, pending: 0, responses: {}, failures: {} },
  functions: { received: 0, failures: {}, dropped: 0, counters: {} },
  eventsDropped: 0,
  retries: 0,
  disconnects: {},
  returns: { dropped: 0, returned: 0, recovered: 0, gaveUp: 0, left: 0, away: 0, retries: 0, awayUs: mergeEncoded([]) },
  transports: { websocket: 0, upgraded: 0, polling: 0 },
  compressed: 0,
  upgradeFailures: {},
  perWorker: {},
  perSessionPrefix: {},
  connectUs: Object.fromEntries(CONNECT_STAGES.map((stage) => [stage, mergeEncoded([])])) as FleetSnapshot['connectUs'],
  tlsResumed: 0,
  receipts: { received: 0, duplicates: 0, late: 0, unreadable: 0, neverOrdered: 0, open: 0, losses: NO_LOSSES },
  messages: {
    ...{ connections: 0, due: 0, sent: 0, notSent: { missed: 0, disconnected: 0 } },
    ...{ unasked: 0, acknowledged: 0, unanswered: 0, waitingConnections: 0, passedOver: {}, lost: 0 },
    ...{ measured: NO_TIMES, outside: NO_TIMES },
  },
  ended: { connections: 0, openMs: 0 },
  unknownAcks: 0,
  acks: 0,
  ackErrors: {},
};

export function addSnapshots(all: Summand[]): FleetTotals {
  const faults = all.flatMap(({ fault }) => fault ?? []);
  return {
    ...addUp(all as (typeof ZERO)[], ZERO),
    ends: addEnds(all.map(({ ends }) => ends)),
    openings: addSeries(all.map(({ openings }) => openings)),
    connecting: addConnecting(all.map(({ connecting }) => connecting)),
    ...(faults.length > 0 && { fault: addUp(faults) }),
  };
}
