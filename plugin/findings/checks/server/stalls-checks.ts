/**
 * Detects pauses of the server's event loop from its clients: many connects or consecutive broadcasts wait for the same
 * moment.
 */

import type { BroadcastBatch } from '../../../../protocol/result/delivery-schema.ts';
import { findingValues } from '../../../../protocol/result/findings.ts';
import { stalledWorkers, standstillValue } from '../../../../report/figures/stalls.ts';
import { withUnit } from '../../../../report/model/amount.ts';
import { decimalsText, integerText, totalOfCounts } from '../../../../report/text/format.ts';
import { type CheckFinding, defineCheckUnless, type FindingCheck, type RunFigures } from '../../check.ts';
import { longestDelayMs, MAX_DELAY_RATIO } from '../../evidence.ts';
import { awaitedServerAnswer, type ConnectGap, longestConnectGap } from '../connections/connect-waits.ts';
import { busiestProcessPercent } from '../connections/pings.ts';

/**
 * Maximum time between the first copies of broadcasts that waited for the same moment, as a share of the time between
 * two broadcasts.
 */
const MAX_SPREAD_SHARE = 0.2;
/**
 * Minimum share of the broadcasts sent during a pause that must arrive together when the pause ends. In a queue, two
 * broadcasts can arrive together by chance.
 */
const MIN_SHARE = 0.5;
/**
 * Minimum length of a pause that is reported, in milliseconds. Garbage collections and busy machines cause shorter
 * pauses.
 */
const MIN_STALL_MS = 200;

/** Maximum CPU use of an event loop that waited instead of working, in percent of a core. */
const WAITING_PERCENT = 10;

const BLOCKED_FIX =
  'find what blocks its event loop for so long: a loop, synchronous I/O or a large `JSON.parse`; a CPU profile shows it';
const WAITING_FIX =
  'find what it waited for: a synchronous call (`execSync`, `Atomics.wait`, files on a network), a stop of its process, or what is between the clients and it';

export const stallsChecks: FindingCheck[] = [
  defineCheckUnless('abort', 'WORKER_STALLED', (result) => stalledRamp(result)),
  defineCheckUnless('abort', 'WORKER_STALLED', (result) => stalledServer(result)),
];

/**
 * Minimum number of connects that must be planned during a gap without new connections. With fewer, the gap may be
 * chance.
 */
const MIN_ASKED = 5;
/** Minimum ratio of the median connect time to the longest connect time at which all connects count as slow. */
const USUAL_SHARE = 0.75;

/**
 * Returns whether connects are always as slow as in the gap, or too few connects waited to show a pause of the server.
 */
function isUsual({ connections: { connectMs, configuredRatePerSec } }: RunFigures, { waitedMs }: ConnectGap): boolean {
  const asked = ((configuredRatePerSec ?? 0) * waitedMs) / 1000;
  return asked < MIN_ASKED || (connectMs?.p50 ?? 0) > USUAL_SHARE * waitedMs;
}

/**
 * Finds a period in which the server accepted no connection and then all waiting connections at once, although no
 * connection had closed.
 */
function stalledRamp(result: RunFigures): CheckFinding {
  const { connections } = result;
  const gap = longestConnectGap(result);
  const { held, closed, lost, failed, retries } = connections;
  // If a connection closed or a connection attempt failed, the cause of the gap may be a limit or a refusal.
  const isStall = held !== null && totalOfCounts(lost) === 0 && !closed && !failed && !retries;
  // The workers' own event loop figures may report this pause, too, in a separate finding.
  if (!gap || !isStall || isUsual(result, gap) || stalledWorkers(result).some(({ window }) => window === 'ramp'))
    return undefined;
  const seconds = gap.waitedMs / 1000;
  const [from, to] = gap.untilT;
  const percent = busiestProcessPercent(result, from - seconds, from);
  const answer = awaitedServerAnswer(result);
  const cpu =
    percent === undefined ? '' : `; its processes used up to ${decimalsText(percent, 0)} % of a core meanwhile`;
  const delayMs = longestDelayMs(result);
  return {
    message: `the server accepted no connection for at least ${withUnit('seconds', seconds)}, until ${decimalsText(from, 1)} to ${decimalsText(to, 1)} s: ${integerText(gap.opened)} of ${integerText(connections.opened)} connections opened then, after ${withUnit('seconds', gap.meanMs / 1000)} on average${answer ? `, and waited for ${answer}` : ''}${cpu}; the generator was at most ${withUnit('milliseconds', delayMs)} late`,
    window: 'ramp',
    values: [
      ...standstillValue(seconds),
      ...findingValues({ 'mean connect time then': gap.meanMs }, 'ms'),
      ...findingValues({ 'start of the interval in which it ended': from, 'end of that interval': to }, 's'),
      ...findingValues({ 'connections that opened then': gap.opened, connections: connections.opened }),
      ...findingValues({ 'highest CPU of a server process': percent }, '%'),
      ...findingValues({ 'longest delay of the generator': delayMs }, 'ms'),
    ],
    fix: percent !== undefined && percent < WAITING_PERCENT ? WAITING_FIX : BLOCKED_FIX,
  };
}

interface Stall {
  /** Time in seconds at which the first copies arrived together. */
  end: number;
  /** Time from the first broadcast of the pause to its end. The pause may have begun earlier. */
  lengthMs: number;
  broadcasts: number;
  /** Seconds between the sends of the last two broadcasts in the pause. */
  apart: number;
}

/** Reports standstills of the server during the broadcasts, as its clients noticed them. */
export function stalledServer(result: RunFigures): CheckFinding {
  const least = Math.max(MIN_STALL_MS, MAX_DELAY_RATIO * longestDelayMs(result));
  const found = stallsAmong(result.delivery?.batches ?? []).filter(({ lengthMs }) => lengthMs >= least);
  if (found.length === 0) return undefined;
  const longest = Math.max(...found.map(({ lengthMs }) => lengthMs)) / 1000;
  const times = found.length === 1 ? 'once, for' : `${found.length} times, the longest for`;
  const ends = found.map(({ end }) => end);
  const apart = ends.slice(1).map((end, index) => end - (ends[index] as number));
  const period = apart.length > 1 && Math.max(...apart) < 1.2 * Math.min(...apart);
  const every = period ? `, every ${decimalsText(Math.min(...apart), 1)} s` : '';
  const most = Math.max(...found.map(({ broadcasts }) => broadcasts));
  return {
    message: `the server stood still ${times} at least ${decimalsText(longest, 1)} s${every}: copies of up to ${most} consecutive broadcasts arrived together`,
    window: 'broadcasts',
    values: [
      ...standstillValue(longest),
      ...findingValues({ standstills: found.length, 'broadcasts that arrived together': most }),
      ...findingValues({ 'time between standstills': period ? Math.min(...apart) : undefined }, 's'),
    ],
    fix: BLOCKED_FIX,
  };
}

/**
 * Returns groups of consecutive broadcasts whose first copies arrived at the same moment, and whose other copies
 * arrived directly afterwards.
 */
function stallsAmong(batches: BroadcastBatch[]): Stall[] {
  const all: Stall[] = [];
  let open: Stall | undefined;
  let before: number | undefined;
  for (const { t, firstMs, lastMs, broadcasts } of batches) {
    const isKnown = t !== null && firstMs !== null && lastMs !== null && broadcasts === 1;
    const apart = isKnown && before !== undefined ? t - before : 0;
    const isTogether =
      isKnown && open && apart > 0 && Math.abs(t + firstMs / 1000 - open.end) <= MAX_SPREAD_SHARE * apart;
    // If all copies of a broadcast wait for the same moment, they arrive at almost the same time.
    const isShort = isKnown && lastMs - firstMs <= MAX_SPREAD_SHARE * firstMs;
    if (isTogether && open) Object.assign(open, { broadcasts: open.broadcasts + 1, apart });
    else {
      open =
        isKnown && isShort ? { end: t + firstMs / 1000, lengthMs: firstMs, broadcasts: 1, apart: Infinity } : undefined;
      if (open) all.push(open);
    }
    before = t ?? undefined;
  }
  return all.filter(
    ({ broadcasts, lengthMs, apart }) => broadcasts > 1 && broadcasts >= (MIN_SHARE * lengthMs) / 1000 / apart,
  );
}
