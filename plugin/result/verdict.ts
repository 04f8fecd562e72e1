/** Whether the figures can be trusted, and if not, why. */

import { type Reason, VERDICT_REASONS } from '../../protocol/codes/verdict-reasons.ts';
import type { Batch } from '../../protocol/result/delivery.ts';
import type { Result } from '../../protocol/result/result.ts';
import { isDuring } from '../run/fault/measure.ts';
import type { Measurements } from '../run/measurements/measurements.ts';
import { leastKnownWorker } from './clocks.ts';
import { notFinalized } from './delivery/delivery.ts';
import { clockBoundUs, leastKnownClock } from './generators.ts';
import { ceilings } from './reasons/ceilings.ts';
import { connectionProblems } from './reasons/connections.ts';
import { copyProblems } from './reasons/copies.ts';
import { changedWorkers, faultProblems } from './reasons/fault.ts';
import { generatorProblems } from './reasons/generator.ts';
import { lateBroadcasts } from './reasons/late-broadcasts.ts';
import { machineProblems } from './reasons/machine.ts';
import { memberProblems } from './reasons/members.ts';
import { memoryProblems, missingMemory } from './reasons/memory.ts';
import { messageProblems } from './reasons/messages.ts';
import { ownEventProblems } from './reasons/own-event.ts';
import { throttlingProblems } from './reasons/throttling.ts';
import { sum } from './sums.ts';

type Status = Result['verdict']['status'];

/** What a stop causes by itself: a signal can reach all processes of the generator, and the last ramp has no end. */
const BY_STOP = new Set<Reason['code']>(['FLEET_PROCESS_DIED', 'FLEET_PROCESS_SILENT', 'RATE_NOT_REACHED']);

/** The achieved rate can be this much below the configured one. */
const RATE_TOLERANCE = 0.05;

/** @param result everything but the verdict */
export function evaluate(
  measurements: Measurements,
  result: Omit<Result, 'verdict'>,
): { status: Status; reasons: Reason[] } {
  const reasons = [
    ...abortion(measurements),
    ...measurements.warnings,
    ...[...checks(measurements, result)].filter(({ code }) => !measurements.stoppedByUser || !BY_STOP.has(code)),
  ];
  const invalid = reasons.some(({ code }) => VERDICT_REASONS[code].invalidates.includes('run'));
  return {
    status: reasons.length === 0 ? 'VALID' : invalid ? 'INVALID' : 'SUSPECT',
    reasons: reasons.map((reason) => ({ ...reason, fix: reason.fix ?? VERDICT_REASONS[reason.code].remedy })),
  };
}

/** Why the run ended early, and what is not known for it. */
function* abortion(measurements: Measurements): Generator<Reason> {
  const { aborted, sent } = measurements;
  if (!aborted) return;
  const { size } = notFinalized(measurements);
  const unknown =
    size > 0
      ? `; who received ${size} of ${sent.length} broadcasts is not known, as their ledger is not finalized`
      : '';
  yield { ...aborted, message: `${aborted.message}${unknown}` };
}

function* checks(measurements: Measurements, result: Omit<Result, 'verdict'>): Generator<Reason> {
  const { connections } = result;
  const delivery = withoutOpen(measurements, result.delivery);
  yield* connectionProblems(measurements, result);
  yield* faultProblems(measurements, result);
  const all = measurements.sent.length + measurements.unsent.length;
  // Those during a planned fault are part of what it costs.
  const unsent = measurements.unsent.filter(({ intendedAtUs }) => !isDuring(measurements.fault, intendedAtUs ?? 0));
  const [first] = unsent;
  if (first) {
    yield {
      code: 'BROADCAST_NOT_SENT',
      message: `${unsent.length} of ${all} broadcasts were not sent; the first because: ${first.message}`,
      fix: measurements.ownEvent ? 'see the logs of server and proxy, and their time-outs' : 'see the worker logs',
    };
  }
  // Before what it causes.
  yield* throttlingProblems(result);
  yield* lateBroadcasts(measurements, result);
  const { achievedRatePerSec: achieved, configuredRatePerSec: configured } = connections;
  if (achieved !== null && configured !== null && achieved < configured * (1 - RATE_TOLERANCE)) {
    yield {
      code: 'RATE_NOT_REACHED',
      message: `only ${achieved.toFixed(1)} of ${Number(configured.toFixed(1))} connections/s were reached`,
      fix: 'lower RATE, or give the machine more cores',
    };
  }
  if (delivery) yield* ledgerProblems(delivery);
  const [wrong] = result.latency.byConnections.filter(({ expected, received, lost }) => expected !== received + lost);
  if (wrong) {
    const message = `expected is not equal to received + lost in the broadcasts with ${wrong.connections} connections`;
    yield { code: 'LEDGER_MISMATCH', message };
  }
  yield* memberProblems({ connections, delivery });
  yield* ownEventProblems(measurements, result);
  yield* copyProblems(measurements, result);
  yield* messageProblems(result);
  yield* clockProblems(result);
  yield* roundTripProblems(measurements);
  yield* generatorProblems(measurements, result);
  yield* machineProblems(result);
  yield* ceilings(measurements, result);
  yield* plateauProblems(measurements);
  yield* memoryProblems(result.memory);
  const { restarted, elsewhere } = changedWorkers(measurements);
  if (elsewhere.length > 0) {
    yield {
      code: 'METRICS_ALTERNATE',
      message: `control URLs led to other workers at the end than at the start: ${elsewhere.join(', ')}`,
      fix: 'give the control URL of every worker itself; one of a load balancer leads to another worker after each reconnection',
    };
  }
  if (restarted.length > 0) {
    yield {
      code: 'WORKER_RESTARTED',
      message: `${restarted.join(', ')} restarted during the run${measurements.fault ? ', other than the planned fault has it' : ''}`,
      fix: 'see the worker logs; the memory and counters from before the restart are lost',
    };
  } else if (elsewhere.length === 0) yield* missingMemory(measurements, result.memory);
}

/** Of a broadcast whose ledger is not finalized, the columns are empty, which is no finding. */
function withoutOpen(measurements: Measurements, delivery: Result['delivery']): Result['delivery'] {
  const open = notFinalized(measurements);
  return delivery && { ...delivery, batches: delivery.batches.filter(({ seq }) => !open.has(seq)) };
}

function* roundTripProblems({ impossibleRoundTrips, roundTripsUs }: Measurements): Generator<Reason> {
  const [first] = impossibleRoundTrips;
  if (!first) return;
  const all = impossibleRoundTrips.length + roundTripsUs.single.length + roundTripsUs.underLoad.length;
  const ms = (us: number) => (us / 1000).toFixed(1);
  const said = Number.isFinite(first.roundTripUs) ? `${ms(first.roundTripUs)} ms` : 'no number';
  yield {
    code: 'ROUND_TRIPS_IMPOSSIBLE',
    message: `the server acknowledged ${impossibleRoundTrips.length} of ${all} echoes with a round trip that cannot be: that of broadcast ${first.echo.seq} with ${said}, where the probe saw ${ms(first.leastUs)} to ${ms(first.mostUs)} ms`,
    fix: "let `instrument(io)` acknowledge `broadcast_echo`; is the clock of `sentAtUs` the worker's monotonic one?",
  };
}

/** Latencies between two hosts may be off by this, or by this share of their median, if that is more. */
const MAX_CLOCK_ERROR = { us: 1000, share: 0.1 };

function* clockProblems({ latency, generators }: Omit<Result, 'verdict'>): Generator<Reason> {
  const { oneWayMs } = latency;
  const worker = leastKnownWorker(latency);
  const host = leastKnownClock(generators);
  const errorUs = (worker?.uncertaintyUs ?? 0) + clockBoundUs(host);
  if (!oneWayMs || errorUs <= Math.max(MAX_CLOCK_ERROR.us, oneWayMs.p50 * 1000 * MAX_CLOCK_ERROR.share)) return;
  const ms = (us: number) => `${(us / 1000).toFixed(1)} ms`;
  const jumped = worker && worker.jumpUs > 0 ? ` and jumped by up to ${ms(worker.jumpUs)}` : '';
  const clocks = [
    ...(worker ? [`the clock of ${worker.worker} is known to ± ${ms(worker.uncertaintyUs)}${jumped}`] : []),
    ...(host ? [`the clock of generator host ${host.host} is known to ± ${ms(clockBoundUs(host))}`] : []),
  ];
  yield {
    code: 'CLOCK_UNCERTAIN',
    message: `one-way latencies, with a median of ${ms(oneWayMs.p50 * 1000)}, may be wrong by ${ms(errorUs)}: ${clocks.join(', and ')}`,
    fix: 'move the generator nearer to the workers, or use only the round trips, which need a single clock',
  };
}

function* ledgerProblems({ batches, broadcasts, source }: NonNullable<Result['delivery']>): Generator<Reason> {
  const open = batches.filter(
    (batch) => batch.expected !== batch.received + batch.lostConnected + batch.lostDisconnected,
  );
  if (open[0]) {
    yield {
      code: 'LEDGER_MISMATCH',
      message: `expected is not equal to received + lost in ${howMany(open)} of ${broadcasts} broadcasts, the first of which is ${open[0].seq}`,
    };
  }
  if (batches.length > 0 && batches.every(({ expected }) => expected === 0)) {
    yield {
      code: 'NOBODY_EXPECTED',
      message:
        'no connection had joined the room of the broadcasts, by what the server acknowledged before they were sent',
      fix:
        source === 'contract'
          ? "let the flow emit join_room with the plugin's `room` (default: capacity), and the server acknowledge it with that room, or without one"
          : 'let the flow emit the event that `delivery.join` names, and the server acknowledge it',
    };
  }
  const duplicated = batches.filter(({ duplicates }) => duplicates > 0);
  if (duplicated.length > 0) {
    yield {
      code: 'DUPLICATE_RECEIPTS',
      message: `connections got ${howMany(duplicated)} of ${broadcasts} broadcasts more than once`,
      fix:
        source === 'contract'
          ? 'give the run its own room, which no other run or publisher uses'
          : 'does `delivery.id` tell one broadcast from another, and does nobody else publish with the same ids?',
    };
  }
}

/** In a long run, a row stands for several broadcasts, and what is true of it need not be true of each. */
function howMany(rows: Batch[]): string {
  const count = sum(rows.map(({ broadcasts }) => broadcasts));
  return count > rows.length ? `up to ${count}` : String(count);
}

/** Two points always lie on a line. */
const MIN_PLATEAUS = 3;

function* plateauProblems({ plateaus, aborted, memory, overTime, fault }: Measurements): Generator<Reason> {
  // Their question is not what a connection costs, but what it leaves behind, or how it comes back.
  if (overTime || fault) return;
  const different = new Set(plateaus.map(({ connections }) => connections));
  if (aborted || !memory || different.size === 0 || different.size >= MIN_PLATEAUS) return;
  yield {
    code: 'TOO_FEW_PLATEAUS',
    message: `memory was read at ${different.size} numbers of connections (${[...different].join(', ')}): the bytes per connection have no interval`,
    fix: 'use two ramps or more, with a `pause` phase after each',
  };
}
