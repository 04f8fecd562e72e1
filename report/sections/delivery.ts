/** Whether every broadcast reached every member. */
import type { Batch } from '../../protocol/result/delivery.ts';
import type { Result } from '../../protocol/result/result.ts';
import { deliveredByBroadcast } from '../charts/delivery.ts';
import { missesSome } from '../figures/held.ts';
import { amount, numberText, share } from '../model/amount.ts';
import {
  absentSection,
  type Block,
  type Cell,
  drawing,
  type Finding,
  facts,
  grid,
  lines,
  type Section,
} from '../model/document.ts';
import { batchName } from '../model/names.ts';
import { counted, integer, percentOf } from '../text/format.ts';
import { whyNoDelivery } from './parts.ts';
import { redis } from './redis.ts';

const ID = 'delivery';
const TITLE = 'Delivery';
type Delivery = NonNullable<Result['delivery']>;

/** Null where nothing was to be broadcast, as while connections come and go. */
export function delivery(result: Result): Section | null {
  const { delivery: found } = result;
  if (found === null && result.memory.overTime) return null;
  if (found === null) return { ...absentSection(ID, TITLE, whyNoDelivery(result)), findings: absentFinding(result) };
  const isWhole = found.expected > 0 && found.received === found.expected;
  return {
    id: ID,
    title: TITLE,
    lead: 'Whether every member of the room received every broadcast, by the generator’s own ledger.',
    terms: ['expected', 'ledger', 'coverage'],
    findings: finding(result, found),
    blocks: [
      isWhole
        ? lines('text', [`Every broadcast reached everybody: ${integer(found.received)} copies.`])
        : drawing(deliveredByBroadcast(result), 'Not measured: no copy was expected.'),
      lines('text', [sourceNote(found)]),
      facts('Copies of all broadcasts', counts(found), true),
      ...imperfect(found.batches),
      ...redis(result),
    ],
  };
}

/** Where messages were sent instead, the delivery of broadcasts is no question. */
function absentFinding(result: Result): Finding[] {
  if (result.messages) return [];
  return [{ text: null, figure: { name: 'Delivered', value: amount('share', null), note: whyNoDelivery(result) } }];
}

function finding({ connections }: Result, found: Delivery): Finding[] {
  const { broadcasts, expected, received, batches } = found;
  if (broadcasts === 0 || found.coverage === null) return [];
  const leavers = missesSome(found);
  const everybody = leavers || connections.held === null ? 'everybody still connected' : 'everybody';
  const complete = batches
    .filter((batch) => batch.expected > 0 && batch.received === batch.expected)
    .reduce((sum, batch) => sum + batch.broadcasts, 0);
  // A row of a long run, which stands for several broadcasts, is incomplete if one of them is.
  const atLeast = batches.length < broadcasts ? 'at least ' : '';
  const all = `${broadcasts === 1 ? 'the broadcast' : `all ${counted(broadcasts, 'broadcast')}`} delivered to ${everybody}: ${integer(received)} copies`;
  const some = `${atLeast}${integer(complete)} of ${counted(broadcasts, 'broadcast')} delivered to ${everybody} (${percentOf(received, expected)} of the copies)`;
  const gone = leavers ? `; ${numberText('share', found.coverageOfTarget ?? 0)} % with those that were gone` : '';
  return [
    {
      text: complete === broadcasts ? all : some,
      figure: {
        name: 'Delivered',
        value: share(received, expected),
        note: `${integer(received)} of ${integer(expected)} copies of ${counted(broadcasts, 'broadcast')}${gone}`,
      },
    },
  ];
}

function counts(found: Delivery): [string, Cell, string?][] {
  const { payloadBytes, binary, received, expected, rooms } = found;
  const where = rooms
    ? `, to ${rooms.reached} of ${rooms.count} rooms ${rooms.order === 'turn' ? 'in turn' : 'at random'}`
    : '';
  const row = (name: string, value: number, note = ''): [string, Cell, string] => [name, amount('count', value), note];
  return [
    row('Broadcasts', found.broadcasts, `of ${integer(payloadBytes)} ${binary ? 'binary ' : ''}bytes${where}`),
    row('Copies expected', expected),
    row('Received', received, percentOf(received, expected)),
    ...(missesSome(found)
      ? [['With those that were gone', amount('share', found.coverageOfTarget)] as [string, Cell]]
      : []),
    row('Lost while connected', found.lostConnected),
    row('Lost while disconnected', found.lostDisconnected),
    row('Duplicates', found.duplicates, 'copies after a connection’s first'),
    row('Reordered', found.reordered, 'received after a later broadcast'),
    row('Unexpected', found.unexpected, 'join not acknowledged before the send'),
    row('Late', found.late, 'received after the ledger was closed'),
    ...otherCopies(found).map(({ name, count, note }) => row(name, count, note)),
    ['Payload received', amount('megabytes', received * payloadBytes)],
  ];
}

/** Copies that most runs do not have: named where there are any, so that none is lost silently. */
function otherCopies(found: Delivery): { name: string; count: number; note: string }[] {
  return [
    { name: 'Missed', count: found.missed, note: 'sent while their receivers, which came back, were away' },
    { name: 'Sent again', count: found.resent, note: 'of these, received with the restored session' },
    { name: 'Not a member', count: found.notMember, note: 'received by connections that never asked to join' },
    { name: 'Early', count: found.early, note: 'received before the send' },
    { name: 'Wrong size', count: found.wrongSize, note: 'the payload’s length changed on the way' },
    { name: 'Wrong content', count: found.wrongContent, note: 'the payload changed on the way' },
    {
      name: 'Unreadable',
      count: found.unreadable,
      note: found.source === 'contract' ? 'without a readable seq, time and worker' : 'without an id',
    },
    { name: 'Outside', count: found.outside, note: 'ids from outside the measured window' },
    { name: 'Never ordered', count: found.neverOrdered, note: 'broadcasts that the run did not send' },
  ].filter(({ count }) => count > 0);
}

/** What was counted, where it is not the contract's broadcast. */
function sourceNote({ source, event, publisher }: Delivery): string | null {
  if (source === 'contract') return null;
  const who = publisher === 'run' ? 'connections of the run' : 'the server itself';
  return `Counted: \`${event}\`, published by ${who}.`;
}

/** Broadcasts that everybody got once need no row. */
function imperfect(batches: Batch[]): Block[] {
  const rows = batches.filter((batch) => !isPerfect(batch));
  if (rows.length === 0) return [];
  const table = grid(
    'Broadcasts that were not perfect',
    [
      'Broadcast',
      'Expected',
      'Received',
      'Delivered, %',
      'Lost, connected',
      'Lost, disconnected',
      'Duplicates',
      'Reordered',
      'Unexpected',
      'Members (server)',
    ],
    rows.map((batch) => [
      batchName(batch),
      amount('count', batch.expected),
      amount('count', batch.received),
      share(batch.received, batch.expected),
      ...[batch.lostConnected, batch.lostDisconnected, batch.duplicates, batch.reordered, batch.unexpected].map(
        (count) => amount('count', count),
      ),
      amount('count', batch.serverMembers),
    ]),
    true,
  );
  return [table];
}

function isPerfect({ serverMembers, expected, received, duplicates, reordered, unexpected }: Batch): boolean {
  const agreed = serverMembers === null || serverMembers === expected;
  return expected > 0 && received === expected && duplicates + reordered + unexpected === 0 && agreed;
}
