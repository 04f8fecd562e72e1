/** Every frame that carried the broadcast event: each stands in one column, and most columns are to be empty. */

import { SAME_CLOCK_US } from '../../../protocol/clock/clock-line.ts';
import type { Reason, ReasonCode } from '../../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { clockBoundUs, leastKnownClock } from '../generators.ts';
import { sum } from '../sums.ts';

type Delivery = NonNullable<Result['delivery']>;

export function* copyProblems(
  measurements: Measurements,
  { delivery, latency, generators }: Omit<Result, 'verdict'>,
): Generator<Reason> {
  if (!delivery) return;
  yield* confirmedWrongly(measurements);
  yield* mismatch(measurements, delivery);
  yield* receivedBeforeSent(measurements, delivery, latency, clockBoundUs(leastKnownClock(generators)));
  yield* unwanted(delivery);
}

/** Whoever confirms another broadcast than the ordered one may not have sent it. */
function* confirmedWrongly({ sent }: Measurements): Generator<Reason> {
  const wrong = sent.filter(({ confirmedAs }) => confirmedAs !== undefined);
  const [first] = wrong;
  if (!first) return;
  yield {
    code: 'CONFIRMATION_WRONG',
    message: `workers confirmed ${wrong.length} of ${sent.length} broadcasts as another one: ${first.worker} confirmed broadcast ${first.seq} as ${first.confirmedAs}`,
    fix: 'let `instrument(io)` answer the control requests, in the version of the run',
  };
}

/** Each frame once; `reordered` and `early` are marks on receipts that stand elsewhere. */
function columns(delivery: Delivery): number {
  const { received, duplicates, unexpected, notMember, wrongSize, wrongContent } = delivery;
  const { late, neverOrdered, unreadable, outside } = delivery;
  const ofRun = [received, duplicates, unexpected, notMember, wrongSize, wrongContent, late];
  return sum([...ofRun, neverOrdered, unreadable, outside]);
}

/** Not after a run that ended before its ledger did, nor where a process took its rows with it. */
function* mismatch({ aborted, snapshots }: Measurements, delivery: Delivery): Generator<Reason> {
  const isComplete = snapshots.every(({ processes }) => processes.every(({ answers }) => answers));
  if (aborted || !isComplete || delivery.frames === null || delivery.frames === columns(delivery)) return;
  yield {
    code: 'COPIES_MISMATCH',
    message: `${delivery.frames} frames carried the broadcast event, and ${columns(delivery)} are accounted for`,
    fix: 'a bug: please report it with the folder of the run',
  };
}

/** Of each broadcast, with the errors of its publisher's clock and of the receiver's. */
function* receivedBeforeSent(
  { sent }: Measurements,
  { batches }: Delivery,
  { clocks }: Result['latency'],
  hostBoundUs: number,
): Generator<Reason> {
  const impossible = batches.filter(({ seq, earlyByMs }) => {
    const clock = clocks[sent.find((one) => one.seq === seq)?.via ?? -1];
    const boundUs = SAME_CLOCK_US + hostBoundUs + (clock?.uncertaintyUs ?? 0);
    return (earlyByMs ?? 0) * 1000 > boundUs;
  });
  const [worst] = impossible.toSorted((a, b) => (b.earlyByMs ?? 0) - (a.earlyByMs ?? 0));
  if (!worst) return;
  yield {
    code: 'RECEIVED_BEFORE_SENT',
    message: `${impossible.length} of ${batches.length} broadcasts arrived before they were sent: broadcast ${worst.seq} by up to ${(worst.earlyByMs ?? 0).toFixed(1)} ms, ${worst.early} times`,
    fix: 'a clock or the server is wrong: does `sentAtUs` come from the monotonic clock that the control namespace reports?',
  };
}

const UNWANTED: { code: ReasonCode; keys: (keyof Delivery & string)[]; what: string; fix: string }[] = [
  {
    code: 'LATE_RECEIPTS',
    keys: ['late'],
    what: 'arrived after the ledger had finalized their broadcast',
    fix: 'raise drain.quiet and drain.deadline; with an event of the server itself, check that ids do not repeat',
  },
  {
    code: 'NOT_MEMBER_RECEIPTS',
    keys: ['notMember'],
    what: 'went to connections that are no members of the room: they never asked to join it, or the server acknowledged another one',
    fix: 'let the server send broadcasts to the room only, the flow join it by join_room, and the acknowledgement name it',
  },
  {
    code: 'NEVER_ORDERED',
    keys: ['neverOrdered'],
    what: 'have a number that the run did not send',
    fix: 'does another run or publisher use this room? give the run a room of its own',
  },
  {
    code: 'UNREADABLE_BROADCASTS',
    keys: ['unreadable'],
    what: 'have a payload that is not {seq, sentAtUs, worker, data}',
    fix: 'is `broadcast` an event of the server itself? rename one of them',
  },
  {
    code: 'WRONG_PAYLOADS',
    keys: ['wrongSize', 'wrongContent'],
    what: 'have a payload of another length or other characters, and count as lost',
    fix: 'does something between server and generator change messages, or does another publisher use this room?',
  },
];

function* unwanted(delivery: Delivery): Generator<Reason> {
  for (const { code, keys, what, fix } of UNWANTED) {
    // Has a reason that shows an example.
    if (code === 'UNREADABLE_BROADCASTS' && delivery.source === 'own event') continue;
    const count = sum(keys.map((key) => delivery[key] as number));
    if (count > 0) yield { code, message: `${count} copies of broadcasts ${what}`, fix };
  }
}
