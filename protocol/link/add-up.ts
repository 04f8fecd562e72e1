/**
 * Adds up figures of fleet processes, engines and hosts. Counts are added and histograms are merged. Nothing is
 * averaged.
 */

import { mergeEncodedHistograms } from '../base/histogram.ts';
import { ownProperty } from '../base/sum-counts.ts';
import { CONNECT_STAGES } from '../wire/connection.ts';
import { mergeCloseKinds } from './close-kinds.ts';
import { NO_LOSSES } from './ledger-messages.ts';
import type { FleetSnapshot } from './snapshot.ts';
import type { ConnectingOverTime, TimeSeries } from './time-series.ts';

type Value = number | string | Values;
interface Values {
  [key: string]: Value;
}

/** Key whose values are combined by their maximum instead of their sum. */
const MAXIMUM_KEY = 'loopLateMs';

/**
 * Adds numbers, and merges histograms and time series. Objects are added key by key.
 * @param zero object with the keys to add; default: all keys that occur
 */
export function sumDeep<T extends object>(all: Iterable<T>, zero = {} as T): T {
  return sumOf([...all] as object[] as Values[], zero as object as Values) as object as T;
}

function sumOf(all: Values[], zero: Values): Values {
  const keys = new Set(Object.keys(zero).length > 0 ? Object.keys(zero) : all.flatMap(Object.keys));
  return Object.fromEntries(
    Array.from(keys, (key) => {
      const values = all.flatMap((values) => ownProperty(values, key) ?? []);
      return [key, combined(key, ownProperty(zero, key), values)];
    }),
  );
}

function combined(key: string, zero: Value | undefined, values: Value[]): Value {
  const kind = zero ?? values[0];
  if (typeof kind === 'number') {
    return (values as number[]).reduce((sum, value) => (key === MAXIMUM_KEY ? Math.max(sum, value) : sum + value), 0);
  }
  if (typeof kind === 'string') return mergeEncodedHistograms(values as string[]);
  if (Array.isArray(kind?.counts)) return addTimeSeries(values as object[] as TimeSeries[]) as object as Values;
  return sumOf(values as Values[], (zero as Values | undefined) ?? {});
}

/**
 * Adds time series of connects with different interval lengths. Each series can have lengthened its intervals
 * independently, so the longest interval is used for all.
 */
function addConnecting(all: ConnectingOverTime[]): ConnectingOverTime {
  const { startedAtUs, intervalUs } = addTimeSeries(all.flatMap((series) => Object.values(series)));
  const grid = { startedAtUs, intervalUs, counts: [] };
  const combined = (key: keyof ConnectingOverTime, combine?: (a: number, b: number) => number) =>
    addTimeSeries([grid, ...all.map((series) => series[key])], combine);
  return {
    opened: combined('opened'),
    connectUs: combined('connectUs'),
    slowestUs: combined('slowestUs', Math.max),
    failed: combined('failed'),
    ended: combined('ended'),
  };
}

/** Maximum number of intervals in a sum of time series. It limits the memory if a start time is wrong by years. */
const MAX_INTERVALS = 1_000_000;

/**
 * Adds time series with different start times. The sum starts with the earliest series and has the longest interval.
 */
export function addTimeSeries(all: TimeSeries[], combine = (a: number, b: number) => a + b): TimeSeries {
  const startedAtUs = Math.min(...all.map((series) => series.startedAtUs));
  const endedAtUs = Math.max(...all.map((series) => series.startedAtUs + series.counts.length * series.intervalUs));
  const coarsestUs = Math.ceil((endedAtUs - startedAtUs) / MAX_INTERVALS);
  const intervalUs = Math.max(10_000, coarsestUs, ...all.map((series) => series.intervalUs));
  const counts: number[] = [];
  for (const series of all) {
    const shiftUs = series.startedAtUs - startedAtUs;
    series.counts.forEach((value, index) => {
      // Rounds the start to the nearest interval of the sum, because a series can start anywhere within an interval.
      const at = Math.round((shiftUs + index * series.intervalUs) / series.intervalUs) * series.intervalUs;
      const interval = Math.floor(at / intervalUs);
      while (counts.length <= interval) counts.push(0);
      counts[interval] = combine(counts[interval] ?? 0, value);
    });
  }
  return { startedAtUs: all.length > 0 ? startedAtUs : 0, intervalUs, counts };
}

/** Totals of the snapshots of fleet processes or engines. */
export type FleetTotals = Omit<FleetSnapshot, 'processes' | 'still' | 'engineLoop' | 'failureExamples'>;

type Summand = Partial<FleetTotals> & Pick<FleetTotals, 'ends' | 'openings' | 'connecting'>;

const NO_TIMES = {
  sent: 0,
  acknowledged: 0,
  ackUs: mergeEncodedHistograms([]),
  sendDelayUs: mergeEncodedHistograms([]),
};

/** Zero values of all fields of a snapshot that are added up. */
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
  returns: {
    dropped: 0,
    returned: 0,
    recovered: 0,
    gaveUp: 0,
    left: 0,
    away: 0,
    retries: 0,
    awayUs: mergeEncodedHistograms([]),
  },
  transports: { websocket: 0, upgraded: 0, polling: 0 },
  compressed: 0,
  upgradeFailures: {},
  perWorker: {},
  perSessionPrefix: {},
  connectUs: Object.fromEntries(
    CONNECT_STAGES.map((stage) => [stage, mergeEncodedHistograms([])]),
  ) as FleetSnapshot['connectUs'],
  tlsResumed: 0,
  receipts: { received: 0, duplicates: 0, late: 0, unreadable: 0, unknownBroadcast: 0, open: 0, losses: NO_LOSSES },
  messages: {
    ...{ connections: 0, due: 0, sent: 0, notSent: { missed: 0, disconnected: 0 } },
    ...{ ackNotRequested: 0, acknowledged: 0, unanswered: 0, waitingConnections: 0, skippedByServer: {}, lost: 0 },
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
    ...sumDeep(all as (typeof ZERO)[], ZERO),
    ends: mergeCloseKinds(all.map(({ ends }) => ends)),
    openings: addTimeSeries(all.map(({ openings }) => openings)),
    connecting: addConnecting(all.map(({ connecting }) => connecting)),
    ...(faults.length > 0 && { fault: sumDeep(faults) }),
  };
}
