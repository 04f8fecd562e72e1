/**
 * Builds the figures of messages that connections send repeatedly: their number, and the time until the server
 * acknowledges them.
 */
import { decodeHistogram, summarizeHistogramMs } from '../../../protocol/base/histogram.ts';
import { addSnapshots } from '../../../protocol/link/add-up.ts';
import type { MessageTotals } from '../../../protocol/link/client-messages.ts';
import type { MessagesResult } from '../../../protocol/result/messages-schema.ts';
import type { Measurements, MessagesMeasured } from '../../run/measurements/measurements.ts';
import { sum } from '../sums.ts';

/** Returns the figures; null if the flows send no repeated messages. */
export function messageFigures({ messages, snapshots }: Measurements): MessagesResult | null {
  if (!messages) return null;
  const totals = addSnapshots(snapshots).messages;
  const { connections, due, sent, notSent, ackNotRequested, acknowledged, unanswered, skippedByServer, lost } = totals;
  const { measured, outside, waitingConnections } = totals;
  return {
    steps: messages.steps.map(({ namespace: _, ...step }) => step),
    ...{ connections, due, sent, notSent, ackNotRequested, acknowledged },
    unansweredConnected: unanswered,
    waitingConnections,
    unansweredDisconnected: lost,
    skippedByServer,
    answered: sent > ackNotRequested ? acknowledged / (sent - ackNotRequested) : null,
    window: windowFigures(messages, measured, sum(Object.values(skippedByServer))),
    ackMs: summarizeHistogramMs(decodeHistogram(measured.ackUs)),
    sendDelayMs: summarizeHistogramMs(decodeHistogram(measured.sendDelayUs)),
    outsideAckMs: summarizeHistogramMs(decodeHistogram(outside.ackUs)),
    workers: messages.workers.map(
      ({ eventLoop: { delayP50Ms, delayP99Ms, delayMaxMs }, ownHandler: _, ...worker }) => ({
        ...worker,
        queueMs: { p50: delayP50Ms, p99: delayP99Ms, max: delayMaxMs },
      }),
    ),
    histograms: { ackUs: measured.ackUs, sendDelayUs: measured.sendDelayUs },
  };
}

function windowFigures(
  { seconds, steps, unanswered, skippedByServer }: MessagesMeasured,
  { sent, acknowledged }: MessageTotals['measured'],
  skippedAtEnd: number,
): MessagesResult['window'] {
  if (seconds === 0) return null;
  const events = new Set(steps.map((step) => step.events));
  const arrived = steps.every(({ acknowledge }) => acknowledge) ? acknowledged : sent;
  const [each] = events;
  return {
    seconds,
    sent,
    acknowledged,
    sentPerSec: sent / seconds,
    // Messages that the server will never acknowledge are not in its queue.
    queued: unanswered.map((waiting, index) => waiting - Math.min(skippedByServer[index] ?? 0, skippedAtEnd)),
    eventsPerSec: events.size === 1 && each !== undefined ? (arrived * each) / seconds : null,
  };
}
