/** What connections send again and again: how much of it, and how long until it is acknowledged. */
import { encodeHistogram, summaryMs } from '../../../protocol/histogram.ts';
import type { MessageTotals } from '../../../protocol/link/client-messages.ts';
import type { Messages } from '../../../protocol/result/messages.ts';
import type { Measurements, MessagesMeasured } from '../../run/measurements/measurements.ts';
import { merged, sum } from '../sums.ts';

type Counted = { [Key in keyof MessageTotals]: MessageTotals[Key] extends number ? Key : never }[keyof MessageTotals];

/** @returns null where the flows send none */
export function messageFigures({ messages, snapshots }: Measurements): Messages | null {
  if (!messages) return null;
  const totals = snapshots.map((snapshot) => snapshot.messages);
  const counted = (key: Counted) => sum(totals.map((one) => one[key]));
  const times = (window: 'measured' | 'outside', key: 'ackUs' | 'sendDelayUs') =>
    merged(totals.map((one) => one[window][key]));
  const [ack, delay] = [times('measured', 'ackUs'), times('measured', 'sendDelayUs')];
  const [sent, unasked, acknowledged] = [counted('sent'), counted('unasked'), counted('acknowledged')];
  return {
    steps: messages.steps.map(({ namespace: _, ...step }) => step),
    connections: counted('connections'),
    due: counted('due'),
    sent,
    notSent: {
      missed: sum(totals.map(({ notSent }) => notSent.missed)),
      disconnected: sum(totals.map(({ notSent }) => notSent.disconnected)),
    },
    unasked,
    acknowledged,
    unansweredConnected: counted('unanswered'),
    unansweredDisconnected: counted('lost'),
    answered: sent > unasked ? acknowledged / (sent - unasked) : null,
    window: windowFigures(messages, totals),
    ackMs: summaryMs(ack),
    sendDelayMs: summaryMs(delay),
    outsideAckMs: summaryMs(times('outside', 'ackUs')),
    workers: messages.workers.map(
      ({ eventLoop: { delayP50Ms, delayP99Ms, delayMaxMs }, ownHandler: _, ...worker }) => ({
        ...worker,
        queueMs: { p50: delayP50Ms, p99: delayP99Ms, max: delayMaxMs },
      }),
    ),
    histograms: { ackUs: encodeHistogram(ack), sendDelayUs: encodeHistogram(delay) },
  };
}

function windowFigures({ seconds, steps, unanswered }: MessagesMeasured, totals: MessageTotals[]): Messages['window'] {
  if (seconds === 0) return null;
  const sent = sum(totals.map(({ measured }) => measured.sent));
  const acknowledged = sum(totals.map(({ measured }) => measured.acknowledged));
  const events = new Set(steps.map((step) => step.events));
  const arrived = steps.every(({ acknowledge }) => acknowledge) ? acknowledged : sent;
  const [each] = events;
  return {
    seconds,
    sent,
    acknowledged,
    sentPerSec: sent / seconds,
    unanswered,
    eventsPerSec: events.size === 1 && each !== undefined ? (arrived * each) / seconds : null,
  };
}
