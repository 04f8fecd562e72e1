/** A server with a known number of delivery faults: does the ledger count each in its own column, exactly? */
import { Fleet } from '../../plugin/fleet/fleet.ts';
import type { Batch } from '../../protocol/result/delivery.ts';
import { type Faults, type FaultyServer, startFaultyServer } from '../../test/helpers/faulty-server.ts';
import { fleetSettings, joinAll } from '../../test/helpers/fleet.ts';
import { ledgerRowsOf } from '../../test/helpers/ledger-rows.ts';
import { eventually } from '../../test/helpers/poll.ts';
import { type Comparison, exactly, type Section } from './comparison.ts';

interface DeliverySize {
  members: number;
  victims: number;
  processes: number;
}

interface Case {
  what: string;
  /** One broadcast for each; the row of the first one is compared. */
  faults: Faults[];
  /** How its row differs from that of a correct broadcast. */
  changes: Partial<Record<Column, number>>;
  receipts: number;
}

type Column = (typeof COLUMNS)[number];
const COLUMNS = [
  'received',
  'lostConnected',
  'lostDisconnected',
  'duplicates',
  'reordered',
  'unexpected',
  'notMember',
] as const;

/** The rows are finalized long before. */
const LATE_MS = 1500;

export async function delivery({ members, victims, processes }: DeliverySize): Promise<Section> {
  const server = await startFaultyServer();
  let fleet: Fleet | undefined;
  try {
    fleet = await Fleet.start(fleetSettings(server.url), processes);
    await joinAll(fleet, members);
    const outsiders = Array.from({ length: victims }, () => (fleet as Fleet).connection());
    await Promise.all(outsiders.map((outsider) => outsider.open('/')));
    return {
      title: 'Delivery',
      text:
        `${members} members of the room and ${victims} other connections, in ${processes} generator processes. The server ` +
        'mishandles each broadcast in one way, which must appear in the matching columns and in no others.',
      rows: await faultByFault(server, fleet, members, casesOf(members, victims)),
    };
  } finally {
    await fleet?.close();
    await server.close();
  }
}

/** `kick` comes last, as it removes members. */
function casesOf(members: number, victims: number): Case[] {
  const lost = { received: -victims, lostConnected: victims };
  const kicked = { received: -victims, lostDisconnected: victims };
  const all = members;
  const less = members - victims;
  const more = members + victims;
  return [
    { what: 'an honest server', faults: [{}], changes: {}, receipts: all },
    { what: 'drops', faults: [{ drop: victims }], changes: lost, receipts: less },
    { what: 'sends twice', faults: [{ duplicate: victims }], changes: { duplicates: victims }, receipts: more },
    {
      what: 'sends after the next',
      faults: [{ reorder: victims }, {}],
      changes: { reordered: victims },
      receipts: 2 * all,
    },
    { what: 'sends to others', faults: [{ outsiders: victims }], changes: { notMember: victims }, receipts: more },
    { what: 'sends too late', faults: [{ late: victims, lateMs: LATE_MS }], changes: lost, receipts: less },
    { what: 'closes instead', faults: [{ kick: victims }], changes: kicked, receipts: less },
  ];
}

async function faultByFault(server: FaultyServer, fleet: Fleet, members: number, cases: Case[]): Promise<Comparison[]> {
  const rows: Comparison[] = [];
  const lateNow = async () => (await fleet.snapshot()).receipts.late;
  let seq = 1;
  for (const { what, faults, changes, receipts } of cases) {
    const [row] = await ledgerRowsOf(fleet, server, seq, faults, receipts);
    rows.push(...compare(what, members, changes, row as Batch));
    seq += faults.length;
    const late = faults[0]?.late;
    if (late === undefined) continue;
    await eventually('the late receipts', async () => (await lateNow()) >= late);
    rows.push(exactly(`${what}: late`, late, await lateNow()));
  }
  return rows;
}

function compare(what: string, members: number, changes: Case['changes'], row: Batch): Comparison[] {
  const correct = (column: Column) => (column === 'received' ? members : 0);
  const touched = COLUMNS.filter((column) => changes[column] !== undefined || column === 'received');
  const others = COLUMNS.filter((column) => !touched.includes(column));
  return [
    exactly(`${what}: expected`, members, row.expected),
    ...touched.map((column) => exactly(`${what}: ${column}`, correct(column) + (changes[column] ?? 0), row[column])),
    exactly(
      `${what}: the other columns together`,
      0,
      others.reduce((sum, column) => sum + row[column], 0),
    ),
  ];
}
