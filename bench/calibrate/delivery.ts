/** A server that lies exactly so often: does each lie end in its own column of the ledger, to the exact number? */
import { Fleet } from '../../plugin/fleet/fleet.ts';
import { fleetSettings, joinAll } from '../../test/helpers/fleet.ts';
import { ledgerRowsOf, type Page } from '../../test/helpers/ledger-rows.ts';
import { type Lies, type LyingServer, startLyingServer } from '../../test/helpers/lying-server.ts';
import { eventually } from '../../test/helpers/poll.ts';
import { type Comparison, exactly, type Section } from './comparison.ts';

export interface DeliverySize {
  members: number;
  /** How many suffer each lie. */
  victims: number;
  processes: number;
}

interface Case {
  what: string;
  /** One broadcast for each; the first one's page is looked at. */
  lies: Lies[];
  /** By how much its page differs from an honest one's. */
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

/** The books are long closed then. */
const LATE_MS = 1500;

export async function delivery({ members, victims, processes }: DeliverySize): Promise<Section> {
  const server = await startLyingServer();
  let fleet: Fleet | undefined;
  try {
    fleet = await Fleet.start(fleetSettings(server.url), processes);
    await joinAll(fleet, members);
    const strangers = Array.from({ length: victims }, () => (fleet as Fleet).connection());
    await Promise.all(strangers.map((stranger) => stranger.open('/')));
    return {
      title: 'Delivery',
      text:
        `${members} members of the room and ${victims} connections outside it, in ${processes} fleet processes. ` +
        'The server mishandles each broadcast in one specific way. The effect must appear in the matching columns and in ' +
        'no others.',
      rows: await lieByLie(server, fleet, members, casesOf(members, victims)),
    };
  } finally {
    await fleet?.close();
    await server.close();
  }
}

/** Who is kicked out is gone: that one comes last. */
function casesOf(members: number, victims: number): Case[] {
  const lost = { received: -victims, lostConnected: victims };
  const kicked = { received: -victims, lostDisconnected: victims };
  const all = members;
  const less = members - victims;
  const more = members + victims;
  return [
    { what: 'an honest server', lies: [{}], changes: {}, receipts: all },
    { what: 'drops', lies: [{ drop: victims }], changes: lost, receipts: less },
    { what: 'sends twice', lies: [{ duplicate: victims }], changes: { duplicates: victims }, receipts: more },
    {
      what: 'sends after the next',
      lies: [{ reorder: victims }, {}],
      changes: { reordered: victims },
      receipts: 2 * all,
    },
    { what: 'sends to others', lies: [{ strangers: victims }], changes: { notMember: victims }, receipts: more },
    { what: 'sends too late', lies: [{ late: victims, lateMs: LATE_MS }], changes: lost, receipts: less },
    { what: 'closes instead', lies: [{ kick: victims }], changes: kicked, receipts: less },
  ];
}

async function lieByLie(server: LyingServer, fleet: Fleet, members: number, cases: Case[]): Promise<Comparison[]> {
  const rows: Comparison[] = [];
  const lateNow = async () => (await fleet.snapshot()).receipts.late;
  let seq = 1;
  for (const { what, lies, changes, receipts } of cases) {
    const [page] = await ledgerRowsOf(fleet, server, seq, lies, receipts);
    rows.push(...compare(what, members, changes, page as Page));
    seq += lies.length;
    const late = lies[0]?.late;
    if (late === undefined) continue;
    await eventually('the late receipts', async () => (await lateNow()) >= late);
    rows.push(exactly(`${what}: late`, late, await lateNow()));
  }
  return rows;
}

function compare(what: string, members: number, changes: Case['changes'], page: Page): Comparison[] {
  const honest = (column: Column) => (column === 'received' ? members : 0);
  const touched = COLUMNS.filter((column) => changes[column] !== undefined || column === 'received');
  const others = COLUMNS.filter((column) => !touched.includes(column));
  return [
    exactly(`${what}: expected`, members, page.expected),
    ...touched.map((column) => exactly(`${what}: ${column}`, honest(column) + (changes[column] ?? 0), page[column])),
    exactly(
      `${what}: the other columns together`,
      0,
      others.reduce((sum, column) => sum + page[column], 0),
    ),
  ];
}
