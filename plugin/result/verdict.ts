/** Whether the figures can be trusted, and if not, why. */

import { type Reason, VERDICT_REASONS } from '../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Measurements } from '../run/measurements.ts';
import { ceilings } from './reasons/ceilings.ts';
import { connectionProblems } from './reasons/connections.ts';
import { copyProblems } from './reasons/copies.ts';
import { generatorProblems } from './reasons/generator.ts';
import { machineProblems } from './reasons/machine.ts';
import { memoryProblems } from './reasons/memory.ts';
import { messageProblems } from './reasons/messages.ts';
import { ownEventProblems } from './reasons/own-event.ts';

type Status = Result['verdict']['status'];

/** The achieved rate can be this much below the configured one. */
const RATE_TOLERANCE = 0.05;

/** @param result everything but the verdict */
export function evaluate(
  measurements: Measurements,
  result: Omit<Result, 'verdict'>,
): { status: Status; reasons: Reason[] } {
  const reasons = [
    ...(measurements.aborted ? [measurements.aborted] : []),
    ...measurements.warnings,
    ...checks(measurements, result),
  ];
  const invalid = reasons.some(({ code }) => VERDICT_REASONS[code].invalidates);
  return { status: reasons.length === 0 ? 'VALID' : invalid ? 'INVALID' : 'SUSPECT', reasons };
}

function* checks(measurements: Measurements, result: Omit<Result, 'verdict'>): Generator<Reason> {
  const { connections, delivery } = result;
  yield* connectionProblems(measurements, result);
  const [unsent] = measurements.unsent;
  if (unsent) {
    yield {
      code: 'BROADCAST_NOT_SENT',
      message: `${measurements.unsent.length} of ${measurements.unsent.length + measurements.sent.length} broadcasts were not sent; the first because: ${unsent.message}`,
      fix: 'see the worker logs',
    };
  }
  const { achievedRatePerSec: achieved, configuredRatePerSec: configured } = connections;
  if (achieved !== null && configured !== null && achieved < configured * (1 - RATE_TOLERANCE)) {
    yield {
      code: 'RATE_NOT_REACHED',
      message: `only ${achieved.toFixed(1)} of ${configured} connections/s were reached`,
      fix: 'lower RATE, or give the machine more cores',
    };
  }
  if (delivery) yield* ledgerProblems(delivery);
  yield* ownEventProblems(measurements, result);
  yield* copyProblems(measurements, result);
  yield* messageProblems(result);
  yield* clockProblems(result.latency);
  yield* generatorProblems(measurements, result);
  yield* machineProblems(result);
  yield* ceilings(measurements, result);
  yield* plateauProblems(measurements);
  yield* memoryProblems(result.memory);
  // Both in the order of the control URLs; names can be the same.
  const restarted = measurements.workersAtEnd.filter(
    ({ pid }, index) => measurements.workersAtStart[index]?.pid !== pid,
  );
  if (restarted.length > 0) {
    yield {
      code: 'WORKER_RESTARTED',
      message: `${restarted.map(({ worker }) => worker).join(', ')} restarted during the run`,
      fix: 'see the worker logs; the memory and counters from before the restart are lost',
    };
  }
}

/** Latencies between two hosts may be off by this, or by this share of their median, if that is more. */
const MAX_CLOCK_ERROR = { us: 1000, share: 0.1 };

function* clockProblems({ clocks, oneWayMs }: Result['latency']): Generator<Reason> {
  // The straight line between two readings is off by the drift at most.
  const errorUs = ({ uncertaintyUs, driftUs }: (typeof clocks)[number]) => uncertaintyUs + Math.abs(driftUs);
  const worst = clocks.toSorted((a, b) => errorUs(b) - errorUs(a))[0];
  const boundUs = Math.max(MAX_CLOCK_ERROR.us, (oneWayMs?.p50 ?? 0) * 1000 * MAX_CLOCK_ERROR.share);
  if (worst && oneWayMs && errorUs(worst) > boundUs) {
    yield {
      code: 'CLOCK_UNCERTAIN',
      message: `the clock offset of ${worst.worker} is known only to ± ${(worst.uncertaintyUs / 1000).toFixed(1)} ms, and drifted by ${(worst.driftUs / 1000).toFixed(1)} ms during the broadcasts; the median one-way latency is ${oneWayMs.p50.toFixed(1)} ms`,
      fix: 'move the generator nearer to the workers, or use only the round trips, which need a single clock',
    };
  }
}

function* ledgerProblems({ batches, source }: NonNullable<Result['delivery']>): Generator<Reason> {
  const open = batches.filter(
    (batch) => batch.expected !== batch.received + batch.lostConnected + batch.lostDisconnected,
  );
  if (open[0]) {
    yield {
      code: 'LEDGER_MISMATCH',
      message: `expected is not equal to received + lost in ${open.length} of ${batches.length} broadcasts, the first of which is ${open[0].seq}`,
    };
  }
  if (batches.length > 0 && batches.every(({ expected }) => expected === 0)) {
    yield {
      code: 'NOBODY_EXPECTED',
      message: 'no connection had joined the room of the broadcasts',
      fix:
        source === 'contract'
          ? "let the flow emit join_room with the plugin's `room` (default: capacity)"
          : 'let the flow emit the event that `delivery.join` names, and the server acknowledge it',
    };
  }
  const duplicated = batches.filter(({ duplicates }) => duplicates > 0);
  if (duplicated.length > 0) {
    yield {
      code: 'DUPLICATE_RECEIPTS',
      message: `connections got ${duplicated.length} of ${batches.length} broadcasts more than once`,
      fix:
        source === 'contract'
          ? 'give the run its own room, which no other run or publisher uses'
          : 'does `delivery.id` tell one broadcast from another, and does nobody else publish with the same ids?',
    };
  }
  // Joins in flight are members to the server and not yet to us; they may show as unexpected receipts. Who drops is no
  // member to the server before we notice it, nor while it is away.
  const disagreeing = batches.filter(
    ({ serverMembers, expected, unexpected, missed, lostDisconnected }) =>
      serverMembers !== null &&
      (serverMembers > expected + unexpected || serverMembers < expected - unexpected - missed - lostDisconnected),
  );
  const [first] = disagreeing;
  if (first) {
    yield {
      code: 'COUNTS_DISAGREE',
      message: `in ${disagreeing.length} of ${batches.length} broadcasts, the counts differ: in broadcast ${first.seq}, the server counted ${first.serverMembers} members and the fleet ${first.expected}`,
      fix: 'give the run its own room, which nothing else joins',
    };
  }
}

/** Two points always lie on a line. */
const MIN_PLATEAUS = 3;

function* plateauProblems({ plateaus, aborted, memory, overTime }: Measurements): Generator<Reason> {
  // Its question is not what a connection costs, but what it leaves behind.
  if (overTime) return;
  const different = new Set(plateaus.map(({ connections }) => connections));
  if (aborted || !memory || different.size === 0 || different.size >= MIN_PLATEAUS) return;
  yield {
    code: 'TOO_FEW_PLATEAUS',
    message: `memory was read at ${different.size} numbers of connections (${[...different].join(', ')}): the bytes per connection have no interval`,
    fix: 'use two ramps or more, with a `pause` phase after each',
  };
}
