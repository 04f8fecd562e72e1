/** Copies of broadcasts: lost, duplicated, or in columns of the ledger that must be empty. */
import type { Result } from '../../../protocol/result/result.ts';
import { integer, percentOf } from '../../../report/text/format.ts';
import { sum } from '../../result/sums.ts';
import { type Check, check, type Found } from '../check.ts';

type Column = 'late' | 'notMember' | 'neverOrdered' | 'unreadable' | 'wrongSize' | 'wrongContent';

/** `isOthers`: copies that another publisher in the same room explains. */
const WRONG: { columns: Column[]; what: string; fix: string; isOthers?: true }[] = [
  {
    columns: ['late'],
    what: 'came after the drain',
    fix: 'raise `drain.quiet` and `drain.deadline`; with an event of the server itself, check that ids do not repeat',
  },
  {
    columns: ['notMember'],
    isOthers: true,
    what: 'came to connections outside of the room',
    fix: 'let the server send broadcasts to the room only, the flow join it by `join_room`, and the acknowledgement name it',
  },
  {
    columns: ['neverOrdered'],
    isOthers: true,
    what: 'have a number that the run did not send',
    fix: 'give the run its own room, which no other run or publisher uses',
  },
  {
    columns: ['unreadable'],
    isOthers: true,
    what: 'have no payload of a broadcast',
    fix: 'let the server use the event of the broadcasts for nothing else, or correct `delivery.id`',
  },
  {
    columns: ['wrongSize', 'wrongContent'],
    what: 'have a payload that changed on the way, and count as lost',
    fix: 'see what changes messages between server and generator, or whether another publisher uses this room',
  },
];

export const copies: Check[] = [
  check('COPIES_LOST', ({ delivery, fault }) => lost(delivery, fault)),
  check('COPIES_DUPLICATED', ({ delivery }) => {
    if (!delivery || delivery.duplicates === 0) return undefined;
    const { duplicates, received } = delivery;
    return {
      message: `${integer(duplicates)} copies came twice, beside ${integer(received)} first ones`,
      values: [{ name: 'duplicates', value: duplicates, unit: '', low95: null, high95: null }],
    };
  }),
  ...WRONG.map(({ columns, what, fix, isOthers }) =>
    check('WRONG_COPIES', ({ delivery }, { ownEvent }) => {
      const count = delivery ? sum(columns.map((column) => delivery[column])) : 0;
      if (count === 0) return undefined;
      const isUnreadable = columns.includes('unreadable') && ownEvent;
      const example = isUnreadable
        ? `: nothing at ${ownEvent.idPath} in ${ownEvent.example ?? 'what is not JSON'}`
        : '';
      return { message: `${count} copies ${what}${example}`, fix, ...(isOthers && { about: 'measurement' as const }) };
    }),
  ),
];

/** Copies that a planned fault cost are its result, and no failure. */
function lost(delivery: Result['delivery'], fault: Result['fault']): Found {
  if (!delivery || delivery.coverage === null) return undefined;
  const { received, expected, broadcasts, lostConnected, lostDisconnected } = delivery;
  const missing = expected - received - (fault?.broadcasts?.lost ?? 0);
  if (missing <= 0) return undefined;
  const where = `${integer(lostConnected)} to connections that stayed open, ${integer(lostDisconnected)} to lost ones`;
  return {
    message: `${percentOf(received, expected)} of the copies of ${integer(broadcasts)} broadcasts delivered: ${integer(missing)} lost, ${where}`,
    window: 'broadcasts',
    values: [{ name: 'lost copies', value: missing, unit: '', low95: null, high95: null }],
  };
}
