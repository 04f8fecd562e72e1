/** Builds the figures of a planned fault, such as lost copies and the duration of reconnects. */

import { recordedValuesUs } from '../../protocol/base/histogram.ts';
import { addSnapshots } from '../../protocol/link/add-up.ts';
import type { FaultCounts } from '../../protocol/link/fault-messages.ts';
import type { TimeSeries } from '../../protocol/link/time-series.ts';
import type { BroadcastBatch } from '../../protocol/result/delivery-schema.ts';
import type { FaultResult } from '../../protocol/result/fault-schema.ts';
import { isDuringFault } from '../run/fault/fault-times.ts';
import type { FaultMeasured } from '../run/measurements/fault-measured.ts';
import type { Measurements } from '../run/measurements/measurements.ts';
import type { SampleRow } from '../samplers/index.ts';
import type { Settings } from '../script/settings.ts';
import { mergeToHistogram, sum } from './sums.ts';

const STEP_US = 100_000;

/** Returns the figures of the planned fault; null if no fault has begun. */
export function faultFigures(
  measurements: Measurements,
  batches: BroadcastBatch[],
  { engineOptions }: Pick<Settings, 'engineOptions'>,
  samples: SampleRow[],
): FaultResult | null {
  const { fault } = measurements;
  const counts = addSnapshots(measurements.snapshots).fault;
  const backoff = engineOptions?.reconnection;
  if (!fault || !counts || !backoff) return null;
  const { kind, command, t, tookMs, over, replaced, perWorker } = fault;
  const {
    connections,
    stayed,
    dropped,
    reconnected,
    notReconnected,
    recovered,
    drops,
    attempts,
    returns,
    failedAttempts,
  } = counts;
  return {
    ...{ kind, command: command?.[0] ?? null, t },
    tookMs: tookMs ?? null,
    overMs: over ? (over.atUs - fault.atUs) / 1000 : null,
    ...{ replaced, connections, stayed, dropped, reconnected, notReconnected },
    reconnectMs: reconnectDurations(counts),
    drops: sum(drops.counts),
    returns: sum(returns.counts),
    ...{ recovered, attempts: sum(attempts.counts), failedAttempts },
    peakAttemptsPerSec: peakPerSec(attempts),
    peakReturnsPerSec: peakPerSec(returns),
    backoff,
    peakCpuPercent: peakCpu(fault, samples),
    broadcasts: broadcastFigures(measurements, fault, batches),
    perWorker,
    curve: curveOf(counts),
  };
}

function reconnectDurations({ reconnectUs, dropped }: FaultCounts): FaultResult['reconnectMs'] {
  const times = recordedValuesUs(mergeToHistogram([reconnectUs]));
  const after = (share: number): number | null => {
    let missing = Math.ceil(dropped * share);
    if (missing === 0) return null;
    for (const { valueUs, count } of times) {
      missing -= count;
      if (missing <= 0) return valueUs / 1000;
    }
    return null;
  };
  return { p50: after(0.5), p99: after(0.99), all: after(1) };
}

function peakPerSec({ intervalUs, counts }: TimeSeries): number {
  const width = Math.max(1, Math.round(1e6 / intervalUs));
  let [inWindow, peak] = [0, 0];
  counts.forEach((count, index) => {
    inWindow += count - (counts[index - width] ?? 0);
    peak = Math.max(peak, inWindow);
  });
  return peak;
}

function peakCpu({ t, over }: FaultMeasured, samples: SampleRow[]): Record<string, number> {
  const peaks: Record<string, number> = {};
  for (const { t: at, connections: _, ...layers } of samples) {
    if (at < t || at > (over?.t ?? Number.POSITIVE_INFINITY)) continue;
    for (const [layer, sample] of Object.entries(layers)) {
      const { cpuPercent } = (sample ?? {}) as { cpuPercent?: number };
      if (cpuPercent !== undefined) peaks[layer] = Math.max(peaks[layer] ?? 0, cpuPercent);
    }
  }
  return peaks;
}

function broadcastFigures(
  { sent, unsent, unknown }: Measurements,
  fault: FaultMeasured,
  batches: BroadcastBatch[],
): FaultResult['broadcasts'] {
  const sentAtUs = new Map(sent.map((one) => [one.seq, one.sentAtUs]));
  const at = ({ seq }: BroadcastBatch) => sentAtUs.get(seq) ?? 0;
  const before = batches.filter((batch) => at(batch) < fault.atUs);
  const during = batches.filter((batch) => isDuringFault(fault, at(batch)));
  if (before.length === 0) return null;
  // Connections that were joining received the broadcast before they counted as members.
  const rows = during.map((batch) => {
    const members = before.findLast(({ room }) => room === batch.room)?.expected ?? before.at(-1)?.expected ?? 0;
    const received = batch.received + batch.unexpected;
    const lost = batch.lostConnected + batch.lostDisconnected;
    return { received, lost, resent: batch.resent, absent: Math.max(0, members - received - lost) };
  });
  const total = (key: keyof (typeof rows)[number]) => sum(rows.map((row) => row[key]));
  const [received, lost, absent] = [total('received'), total('lost'), total('absent')];
  return {
    sent: during.length,
    notSent: unsent.filter(({ intendedAtUs }) => isDuringFault(fault, intendedAtUs ?? 0)).length,
    unknown: unknown.filter(({ intendedAtUs }) => isDuringFault(fault, intendedAtUs)).length,
    due: received + lost + absent,
    ...{ received, resent: total('resent'), lost, absent },
    missed: lost + absent,
  };
}

function curveOf({ connections, drops, attempts, returns }: FaultCounts): FaultResult['curve'] {
  const series = [drops, attempts, returns].map(inSteps);
  const length = Math.max(...series.map((steps) => steps.length));
  let connected = connections;
  return Array.from({ length }, (_, index) => {
    const [dropped = 0, attempted = 0, returned = 0] = series.map((steps) => steps[index] ?? 0);
    connected += returned - dropped;
    return { ms: ((index + 1) * STEP_US) / 1000, connected, attempts: attempted, returns: returned };
  });
}

function inSteps({ intervalUs, counts }: TimeSeries): number[] {
  const steps: number[] = [];
  counts.forEach((count, index) => {
    const step = Math.floor((index * intervalUs) / STEP_US);
    while (steps.length <= step) steps.push(0);
    steps[step] = (steps[step] ?? 0) + count;
  });
  return steps;
}
