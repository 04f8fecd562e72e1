/** Frames with the broadcast event in columns that are to be empty. */
import { sum } from '../sums.ts';
import { check } from './check.ts';

type Column = 'duplicates' | 'late' | 'notMember' | 'neverOrdered' | 'unreadable' | 'wrongSize' | 'wrongContent';

const WRONG: { columns: Column[]; what: string; fix: string }[] = [
  {
    columns: ['duplicates'],
    what: 'came twice',
    fix: 'give the run its own room, or its own ids, which no other run or publisher uses',
  },
  {
    columns: ['late'],
    what: 'came after the drain',
    fix: 'raise `drain.quiet` and `drain.deadline`; with an event of the server itself, check that ids do not repeat',
  },
  {
    columns: ['notMember'],
    what: 'came to connections outside of the room',
    fix: 'let the server send broadcasts to the room only, the flow join it by `join_room`, and the acknowledgement name it',
  },
  {
    columns: ['neverOrdered'],
    what: 'have a number that the run did not send',
    fix: 'give the run its own room, which no other run or publisher uses',
  },
  {
    columns: ['unreadable'],
    what: 'have no payload of a broadcast',
    fix: 'let the server use the event of the broadcasts for nothing else, or correct `delivery.id`',
  },
  {
    columns: ['wrongSize', 'wrongContent'],
    what: 'have a payload that changed on the way, and count as lost',
    fix: 'see what changes messages between server and generator, or whether another publisher uses this room',
  },
];

export const copies = WRONG.map(({ columns, what, fix }) =>
  check('WRONG_COPIES', ({ delivery }, { ownEvent }) => {
    const count = delivery ? sum(columns.map((column) => delivery[column])) : 0;
    if (count === 0) return undefined;
    const isUnreadable = columns.includes('unreadable') && ownEvent;
    const example = isUnreadable ? `: nothing at ${ownEvent.idPath} in ${ownEvent.example ?? 'what is not JSON'}` : '';
    return { message: `${count} copies ${what}${example}`, fix };
  }),
);
