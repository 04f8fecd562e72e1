/** Messages that connections send: each must be acknowledged once. */
import { integer, percentOf, total } from '../../../../report/text/format.ts';
import { type Check, check } from '../../check.ts';

export const messages: Check[] = [
  check('MESSAGES_DISAGREE', ({ connections: { unknownAcks } }) =>
    unknownAcks > 0 ? `${unknownAcks} acknowledgements match no message, or came twice` : undefined,
  ),
  check('MESSAGES_UNACKNOWLEDGED', ({ messages: found }) => {
    const asked = found ? found.sent - found.unasked : 0;
    if (!found || asked === 0 || found.acknowledged === asked) return undefined;
    const { acknowledged, unansweredConnected, unansweredDisconnected, passedOver } = found;
    const never = total(passedOver);
    const neverText =
      never === 0
        ? ''
        : `; ${integer(never)} never, in no queue: newer ones of their connections were acknowledged, or none ever (\`${Object.keys(passedOver).join('`, `')}\`)`;
    const where = `${integer(unansweredConnected)} on connections that stayed open, ${integer(unansweredDisconnected)} on lost ones${neverText}`;
    return {
      message: `${percentOf(acknowledged, asked)} of messages acknowledged: ${integer(asked - acknowledged)} were not, ${where}`,
      window: 'messages',
    };
  }),
];
