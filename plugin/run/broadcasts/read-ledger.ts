/** What the ledgers are told of the broadcasts, and what of their answers the server's counts of members put right. */
import type { FreezeOrder } from '../../../protocol/link/ledger-messages.ts';
import type { HostedRow } from '../link.ts';
import type { Measurements } from '../measurements/measurements.ts';
import { loadReceivers } from '../receivers/load-receivers.ts';
import type { SentBroadcast } from './publish.ts';

/**
 * When each was sent, and since when the server may have counted its members: since the one before was ordered.
 * @param beganAtUs in place of that for the first one
 */
export function ordersOf(sent: SentBroadcast[], beganAtUs: number): FreezeOrder[] {
  let previousAtUs = beganAtUs;
  return sent
    .toSorted((a, b) => a.seq - b.seq)
    .map(({ seq, room, worker, sentAtUs, intendedAtUs, orderedAtUs, expected }) => {
      const order = {
        ...{ seq, room, worker, sentAtUs, intendedAtUs, previousAtUs },
        ...(orderedAtUs !== undefined && { orderedAtUs }),
      };
      if (expected !== null && orderedAtUs !== undefined) previousAtUs = orderedAtUs;
      return order;
    });
}

type Known = Parameters<typeof loadReceivers>[1] & Pick<Measurements, 'sent'>;

/**
 * How many members a host that is gone had at a broadcast: nobody but the server can tell. Who left before the broadcast was no member any more, and a broadcast to one of several rooms is not for all.
 * @param rows where those of hosts that are gone have all their connections as expected
 * @returns the rows, in which these are at most the members that the server counted, and no other host had
 */
export function withLostMembers(rows: HostedRow[], { sent, ...known }: Known): HostedRow[] {
  if (!rows.some(({ assumed }) => assumed)) return rows;
  const sentOf = new Map(sent.map((one) => [one.seq, one]));
  return [...Map.groupBy(rows, ({ seq }) => seq)].flatMap(([seq, pages]) => bounded(pages, sentOf.get(seq), known));
}

function bounded(pages: HostedRow[], sent: SentBroadcast | undefined, known: Omit<Known, 'sent'>): HostedRow[] {
  const members = sent && loadReceivers(sent, known);
  if (members === null || members === undefined) return pages;
  const told = pages.filter(({ assumed }) => !assumed);
  let left = told.reduce((rest, { expected, unexpected }) => rest - expected - unexpected, members);
  return pages.map((page) => {
    if (!page.assumed) return page;
    const expected = Math.min(page.expected, Math.max(0, left));
    left -= expected;
    return { ...page, expected, lostDisconnected: expected };
  });
}
