/** Checks the messages that connections send: the server must acknowledge each message once. */

import { sumCounts } from '../../../../protocol/base/sum-counts.ts';
import { findingValues } from '../../../../protocol/result/findings.ts';
import { countText, integerText, percentOf, totalOfCounts } from '../../../../report/text/format.ts';
import type { Measurements } from '../../../run/measurements/measurements.ts';
import { defineCheck, type FindingCheck, type RunFigures } from '../../check.ts';

/** Maximum share of the connections that counts as an exception with its own cause. */
const MAX_SOME_SHARE = 0.5;
const OF_SOME_FIX =
  'find what the connections without an acknowledgement have in common, such as data for which the handler throws or returns early: see the log of the server';

export const messagesChecks: FindingCheck[] = [
  defineCheck('ACKS_CARRY_ERRORS', (result, measurements) => {
    const { acks, errors } = ackCounts(result, measurements);
    const count = totalOfCounts(errors);
    if (count === 0) return undefined;
    const [words = '', most = 0] = Object.entries(errors).toSorted(([, a], [, b]) => b - a)[0] ?? [];
    const isEmpty = words === '{}';
    const example = most === count ? words : `most often ${words}, ${integerText(most)} times`;
    return {
      message: `${integerText(count)} of ${countText(acks, 'acknowledgement')} carry an error: ${example}${isEmpty ? ', as which JSON sends an `Error`' : ''}`,
      ...(isEmpty && {
        fix: 'let the handler acknowledge with the text of the error: JSON leaves nothing of an `Error`',
      }),
      values: findingValues({
        'acknowledgements with an error': count,
        acknowledgements: acks,
        'with the most frequent error': most,
      }),
    };
  }),
  defineCheck('MESSAGES_DISAGREE', ({ connections: { unknownAcks } }) =>
    unknownAcks
      ? {
          message: `${unknownAcks} acknowledgements match no message, or came twice`,
          values: findingValues({ 'unknown acknowledgements': unknownAcks }),
        }
      : undefined,
  ),
  defineCheck('MESSAGES_UNACKNOWLEDGED', ({ messages: found }, { usersLeave }) => {
    const asked = found ? found.sent - found.ackNotRequested : 0;
    if (!found || asked === 0 || found.acknowledged === asked) return undefined;
    const { acknowledged, unansweredConnected, unansweredDisconnected, skippedByServer, waitingConnections } = found;
    // When a virtual user leaves, the acknowledgements for its last messages may not have arrived yet.
    const underWay = found.connections * Math.max(...found.steps.map(({ count }) => count));
    if (usersLeave && unansweredConnected === 0 && unansweredDisconnected <= underWay) return undefined;
    // The figure `connections` counts a connection once for each of its steps.
    const senders = found.steps.length === 1 ? found.connections : undefined;
    const isOfSome = !!waitingConnections && waitingConnections < (senders ?? 0) * MAX_SOME_SHARE;
    const never = totalOfCounts(skippedByServer);
    const neverText =
      never === 0
        ? ''
        : `; of these, the server skipped ${integerText(never)} (\`${Object.keys(skippedByServer).join('`, `')}\`): it acknowledged later messages of the same connections, or none at all`;
    const where = `${integerText(unansweredConnected)} on ${connectionsText(waitingConnections, senders)} that stayed open, ${integerText(unansweredDisconnected)} on lost ones${neverText}`;
    return {
      message: `${percentOf(acknowledged, asked)} of messages acknowledged: ${integerText(asked - acknowledged)} were not, ${where}`,
      window: 'messages',
      values: [
        ...findingValues({ 'acknowledged messages': (100 * acknowledged) / asked }, '%'),
        ...findingValues({
          'messages without an acknowledgement': asked - acknowledged,
          'on connections that stayed open': unansweredConnected,
          'connections with them': waitingConnections,
          'sending connections': senders,
          'on lost connections': unansweredDisconnected,
          'skipped messages': never === 0 ? undefined : never,
        }),
      ],
      ...(isOfSome && { fix: OF_SOME_FIX }),
    };
  }),
];

function connectionsText(waiting: number | null, senders: number | undefined): string {
  if (!waiting) return 'connections';
  return senders === undefined
    ? countText(waiting, 'connection')
    : `${integerText(waiting)} of ${countText(senders, 'connection')}`;
}

/**
 * Returns the acknowledgements that virtual users and publishers received, and the errors in these acknowledgements by
 * text.
 */
export function ackCounts(
  { connections: { acks, ackErrors } }: Pick<RunFigures, 'connections'>,
  { ownEvent }: Measurements,
) {
  const { unacknowledged, ackErrors: published = {} } = ownEvent ?? {};
  return {
    acks: (acks ?? 0) + (unacknowledged ? unacknowledged.asked - unacknowledged.missing : 0),
    errors: sumCounts([ackErrors, published]),
  };
}
