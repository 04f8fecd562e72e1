/** Section on lost and duplicate copies. */
import type { BroadcastBatch } from '../../protocol/result/delivery-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { hasBroadcasts, NO_DELIVERY } from '../answer/line.ts';
import { hasClosedReceivers } from '../figures/held.ts';
import { amount, withUnit } from '../model/amount.ts';
import {
  absentSection,
  countFact,
  factsTable,
  figuresTable,
  linesBlock,
  type ReportSection,
  type TableFact,
} from '../model/document.ts';
import { batchName } from '../model/names.ts';
import { integerText, percentOf } from '../text/format.ts';
import { knownFact } from './section-parts.ts';

type Delivery = NonNullable<Result['delivery']>;

/** Returns the section; null for runs without broadcasts. */
export function deliverySection(result: Result): ReportSection | null {
  const { delivery: found, absent } = result;
  if (!hasBroadcasts(result)) return null;
  if (found === null) {
    return absentSection('delivery', 'Delivery', absent.delivery ?? NO_DELIVERY);
  }
  const isWhole = found.expected > 0 && found.received === found.expected;
  return {
    id: 'delivery',
    title: 'Delivery',
    lead: 'Whether every member of the room received every broadcast, by the generator’s own ledger.',
    terms: ['Expected copies', 'Ledger', 'Delivered'],
    blocks: [
      linesBlock('text', [found.expected === 0 && 'Not measured: no copy was expected.', sourceNote(found)]),
      factsTable('Copies of all broadcasts', counts(found), isWhole),
      imperfectBroadcasts(found.batches),
      redisFacts(result),
    ],
  };
}

function counts(found: Delivery): (TableFact | false)[] {
  const { payloadBytes, binary, received, expected, rooms } = found;
  const where = rooms
    ? `, to ${rooms.reached} of ${rooms.count} rooms ${rooms.order === 'turn' ? 'in turn' : 'at random'}`
    : '';
  // Rows for rare kinds of copies. A row is left out if its count is zero.
  const others = [
    countFact('Missed', found.missed, 'sent while their receivers were disconnected'),
    countFact('Sent again', found.resent, 'received with the restored session'),
    countFact('Not a member', found.notMember, 'received by connections that never asked to join'),
    countFact('Early', found.early, 'received before the send'),
    countFact('Wrong size', found.wrongSize, 'the payload’s length changed on the way'),
    countFact('Wrong content', found.wrongContent, 'the payload changed on the way'),
    countFact(
      'Unreadable',
      found.unreadable,
      found.source === 'contract' ? 'without a readable seq, time and worker' : 'without an id',
    ),
    countFact('Outside', found.outside, 'ids from outside the measured window'),
    countFact('Never ordered', found.unknownBroadcast, 'broadcasts that the run did not send'),
  ];
  return [
    countFact(
      'Broadcasts',
      found.broadcasts,
      `of ${integerText(payloadBytes)} ${binary ? 'binary ' : ''}bytes${where}`,
    ),
    countFact('Copies expected', expected),
    countFact('Received', received, percentOf(received, expected)),
    hasClosedReceivers(found) && ['Including closed connections', amount('share', found.coverageOfTarget)],
    countFact('Lost while connected', found.lostConnected),
    countFact('Lost while disconnected', found.lostDisconnected),
    countFact('Duplicates', found.duplicates, 'copies after a connection’s first'),
    found.reordered !== null && countFact('Reordered', found.reordered, 'received after a later broadcast'),
    countFact('Unexpected', found.unexpected, 'join not acknowledged before the send'),
    countFact('Late', found.late, 'received after the ledger was closed'),
    ...others.filter(([, value]) => typeof value === 'object' && 'quantity' in value && value.value),
    ['Payload received', amount('megabytes', received * payloadBytes)],
  ];
}

/** Returns a note with the name of the counted event, if it is not the broadcast event of the wire contract. */
function sourceNote({ source, event, publisher }: Delivery): string | null {
  if (source === 'contract') return null;
  const who = publisher === 'run' ? 'connections of the run' : 'the server itself';
  return `Counted: \`${event}\`, published by ${who}.`;
}

/** Lists broadcasts for which at least one member did not receive exactly one copy. */
function imperfectBroadcasts(batches: BroadcastBatch[]) {
  const columns: [title: string, keyof BroadcastBatch][] = [
    ['Expected', 'expected'],
    ['Received', 'received'],
    ['Lost, connected', 'lostConnected'],
    ['Lost, disconnected', 'lostDisconnected'],
    ['Duplicates', 'duplicates'],
    ['Reordered', 'reordered'],
    ['Unexpected', 'unexpected'],
    ['Members (server)', 'serverMembers'],
  ];
  const rows = batches
    .filter((batch) => !isPerfect(batch))
    .map((batch) => [batchName(batch), ...columns.map(([, key]) => amount('count', batch[key] as number | null))]);
  return figuresTable(
    'Broadcasts that were not perfect',
    ['Broadcast', ...columns.map(([title]) => title)],
    rows,
    true,
  );
}

function isPerfect({ serverMembers, expected, received, duplicates, reordered, unexpected }: BroadcastBatch): boolean {
  const agreed = serverMembers === null || serverMembers === expected;
  return expected > 0 && received === expected && duplicates + (reordered ?? 0) + unexpected === 0 && agreed;
}

/** Lists the load that broadcasts cause on the adapter's Redis. */
function redisFacts({ redis }: Result) {
  const { nodes, usedMemoryBeforeBytes: before = null, localOnly } = redis ?? {};
  return factsTable(
    'Redis',
    [
      knownFact('Sent', 'bytes', redis?.outBytesPerCopy, 'per copy'),
      knownFact('CPU', 'microseconds', redis?.cpuMicrosecondsPerCopy, 'per copy'),
      knownFact('Memory', 'size', redis?.usedMemoryBytes, before === null ? '' : `before: ${withUnit('size', before)}`),
      knownFact('Output waiting', 'size', redis?.outputBufferPeakBytes, 'at most, read once a second'),
      // A sharded channel belongs to one Redis node. If there is only one room, the broadcasts load only that node.
      knownFact('Busiest node', 'share', redis?.busiestNodeShare, `of what ${nodes?.length ?? 1} nodes sent`),
      knownFact('Wire', 'bytes', redis?.hostBytesPerBroadcast, 'of all hosts per broadcast, both directions'),
      knownFact('Without receivers', 'count', localOnly || null, 'broadcasts without members on other workers'),
    ],
    true,
  );
}
