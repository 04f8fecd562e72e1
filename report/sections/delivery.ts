/** Whether every broadcast reached every member. */
import type { Batch } from '../../protocol/result/delivery.ts';
import type { Result } from '../../protocol/result/result.ts';
import { missesSome } from '../figures/held.ts';
import { amount, numberText, share, withUnit } from '../model/amount.ts';
import { absentSection, count, type Fact, type Finding, facts, grid, lines, type Section } from '../model/document.ts';
import { batchName } from '../model/names.ts';
import { counted, integer, percentOf } from '../text/format.ts';
import { hasBroadcasts, known, unknownFigure } from './parts.ts';

type Delivery = NonNullable<Result['delivery']>;

/** Null where nothing was to be broadcast. */
export function delivery(result: Result): Section | null {
  const { delivery: found, absent } = result;
  if (!hasBroadcasts(result)) return null;
  if (found === null) {
    // In results of versions that did not give the reason, only an external engine left delivery out.
    const why = absent.delivery ?? 'this engine does not report which broadcasts arrive';
    return absentSection('delivery', 'Delivery', why, unknownFigure(result, 'Delivered', 'share', why));
  }
  const isWhole = found.expected > 0 && found.received === found.expected;
  return {
    id: 'delivery',
    title: 'Delivery',
    lead: 'Whether every member of the room received every broadcast, by the generator’s own ledger.',
    terms: ['Expected copies', 'Ledger', 'Delivered'],
    findings: finding(result, found),
    blocks: [
      lines('text', [found.expected === 0 && 'Not measured: no copy was expected.', sourceNote(found)]),
      facts('Copies of all broadcasts', counts(found), isWhole),
      imperfect(found.batches),
      redisFacts(result),
    ],
  };
}

function finding({ connections }: Result, found: Delivery): Finding[] {
  const { broadcasts, expected, received, batches } = found;
  if (broadcasts === 0 || found.coverage === null) return [];
  const leavers = missesSome(found);
  const inRooms = new Set(batches.map(({ room }) => room)).size > 1 ? ' in their rooms' : '';
  const still = leavers || connections.held === null ? ' still connected' : '';
  const everybody = `everybody${inRooms}${still}`;
  const complete = batches
    .filter((batch) => batch.expected > 0 && batch.received === batch.expected)
    .reduce((sum, batch) => sum + batch.broadcasts, 0);
  // A row of a long run, which stands for several broadcasts, is incomplete if one of them is.
  const atLeast = batches.length < broadcasts ? 'at least ' : '';
  const all = `${broadcasts === 1 ? 'the broadcast' : `all ${counted(broadcasts, 'broadcast')}`} delivered to ${everybody}: ${integer(received)} copies`;
  const some = `${atLeast}${integer(complete)} of ${counted(broadcasts, 'broadcast')} delivered to ${everybody} (${percentOf(received, expected)} of the copies)${whereLost(found)}`;
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
    ...sameMissed(found),
  ];
}

/** Among several rooms, the only one in which copies are missing: the others show that it is not the whole deployment. */
function whereLost({ batches }: Delivery): string {
  const incomplete = batches.filter((batch) => batch.received < batch.expected);
  const [room, ...others] = new Set(incomplete.map((batch) => batch.room));
  const isOne = room && others.length === 0 && incomplete.length > 1 && batches.some((batch) => batch.room !== room);
  return isOne ? `, all losses in room \`${room}\`` : '';
}

/** Whoever misses every broadcast is another matter than copies that get lost here and there. */
function sameMissed({ leftOut }: Delivery): Finding[] {
  if (!leftOut) return [];
  const { broadcasts, connections, workers } = leftOut;
  const who =
    connections === 1
      ? 'the same connection, which was open'
      : `the same ${integer(connections)} connections, which were open`;
  const why =
    workers.length === 0
      ? 'they are no members, or no longer reached'
      : `as many as are on worker${workers.length === 1 ? '' : 's'} ${workers.join(', ')}, which sent none of these broadcasts: find out why nothing comes there from other workers (adapter, its subscription, Redis)`;
  return [{ text: `${integer(broadcasts)} broadcasts missed ${who}: ${why}` }];
}

function counts(found: Delivery): (Fact | false)[] {
  const { payloadBytes, binary, received, expected, rooms } = found;
  const where = rooms
    ? `, to ${rooms.reached} of ${rooms.count} rooms ${rooms.order === 'turn' ? 'in turn' : 'at random'}`
    : '';
  // Copies that most runs do not have: named where there are any, so that none is lost silently.
  const others = [
    count('Missed', found.missed, 'sent while their receivers were away, before they came back'),
    count('Sent again', found.resent, 'received with the restored session'),
    count('Not a member', found.notMember, 'received by connections that never asked to join'),
    count('Early', found.early, 'received before the send'),
    count('Wrong size', found.wrongSize, 'the payload’s length changed on the way'),
    count('Wrong content', found.wrongContent, 'the payload changed on the way'),
    count(
      'Unreadable',
      found.unreadable,
      found.source === 'contract' ? 'without a readable seq, time and worker' : 'without an id',
    ),
    count('Outside', found.outside, 'ids from outside the measured window'),
    count('Never ordered', found.neverOrdered, 'broadcasts that the run did not send'),
  ];
  return [
    count('Broadcasts', found.broadcasts, `of ${integer(payloadBytes)} ${binary ? 'binary ' : ''}bytes${where}`),
    count('Copies expected', expected),
    count('Received', received, percentOf(received, expected)),
    missesSome(found) && ['With those that were gone', amount('share', found.coverageOfTarget)],
    count('Lost while connected', found.lostConnected),
    count('Lost while disconnected', found.lostDisconnected),
    count('Duplicates', found.duplicates, 'copies after a connection’s first'),
    count('Reordered', found.reordered, 'received after a later broadcast'),
    count('Unexpected', found.unexpected, 'join not acknowledged before the send'),
    count('Late', found.late, 'received after the ledger was closed'),
    ...others.filter(([, value]) => typeof value === 'object' && value.value !== 0),
    ['Payload received', amount('megabytes', received * payloadBytes)],
  ];
}

/** What was counted, where it is not the contract's broadcast. */
function sourceNote({ source, event, publisher }: Delivery): string | null {
  if (source === 'contract') return null;
  const who = publisher === 'run' ? 'connections of the run' : 'the server itself';
  return `Counted: \`${event}\`, published by ${who}.`;
}

/** Broadcasts that everybody got once need no row. */
function imperfect(batches: Batch[]) {
  const columns: [title: string, keyof Batch][] = [
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
  return grid('Broadcasts that were not perfect', ['Broadcast', ...columns.map(([title]) => title)], rows, true);
}

function isPerfect({ serverMembers, expected, received, duplicates, reordered, unexpected }: Batch): boolean {
  const agreed = serverMembers === null || serverMembers === expected;
  return expected > 0 && received === expected && duplicates + reordered + unexpected === 0 && agreed;
}

/** What the adapter's Redis did for the broadcasts. */
function redisFacts({ redis }: Result) {
  const { nodes, usedMemoryBeforeBytes: before = null, forNobody } = redis ?? {};
  return facts(
    'Redis',
    [
      known('Sent', 'bytes', redis?.outBytesPerCopy, 'per copy'),
      known('CPU', 'microseconds', redis?.cpuMicrosecondsPerCopy, 'per copy'),
      known('Memory', 'size', redis?.usedMemoryBytes, before === null ? '' : `before: ${withUnit('size', before)}`),
      known('Output waiting', 'size', redis?.outputBufferPeakBytes, 'at most, read once a second'),
      // Sharded channels each have one node, so a single room loads only that one.
      known('Busiest node', 'share', redis?.busiestNodeShare, `of what ${nodes?.length ?? 1} nodes sent`),
      known('For nobody', 'count', forNobody || null, 'broadcasts without members on other workers'),
    ],
    true,
  );
}
