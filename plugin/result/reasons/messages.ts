/** The messages that connections send again and again: whether all are accounted for, and whether the generator kept up. */
import type { Reason } from '../../../protocol/codes/verdict-reasons.ts';
import type { Messages } from '../../../protocol/result/messages.ts';
import type { Result } from '../../../protocol/result/result.ts';

/** Beyond this, the times to the acknowledgements are the generator's own: as for its event loops. */
const MAX_SEND_DELAY_P99_MS = 50;

export function* messageProblems({ messages }: Omit<Result, 'verdict'>): Generator<Reason> {
  if (!messages) return;
  yield* mismatch(messages);
  const { notSent, due, sendDelayMs } = messages;
  if (notSent.missed > 0) {
    yield {
      code: 'MESSAGES_MISSED',
      message: `the generator did not send ${notSent.missed} of ${due} messages, because it was behind by more than a period`,
      fix: 'give the generator its own cores, or let connections send less often',
    };
  }
  const lateMs = sendDelayMs?.p99 ?? 0;
  if (sendDelayMs && lateMs > MAX_SEND_DELAY_P99_MS) {
    yield {
      code: 'MESSAGES_LATE',
      message: `the generator sent messages ${lateMs.toFixed(0)} ms late (p99), which is part of the times to their acknowledgements`,
      fix: 'give the generator its own cores, or let connections send less often',
    };
  }
}

function* mismatch({ due, sent, notSent, ...counts }: Messages): Generator<Reason> {
  const { unasked, acknowledged, unansweredConnected, unansweredDisconnected } = counts;
  const scheduled = sent + notSent.missed + notSent.disconnected;
  const answered = unasked + acknowledged + unansweredConnected + unansweredDisconnected;
  const fix = 'a bug: please report it with the folder of the run';
  if (scheduled !== due) {
    const message = `${due} messages were due, and ${scheduled} were sent or counted as not sent`;
    yield { code: 'MESSAGES_MISMATCH', message, fix };
  }
  if (answered !== sent) {
    const message = `${sent} messages were sent, and ${answered} were acknowledged or counted as unanswered`;
    yield { code: 'MESSAGES_MISMATCH', message, fix };
  }
}
