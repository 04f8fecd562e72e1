/** Builds the orders to finalize ledger rows, and corrects the rows of lost hosts by the server's counts of members. */
import type { FreezeOrder } from '../../../protocol/link/ledger-messages.ts';
import type { HostedRow } from '../link.ts';
import type { Measurements } from '../measurements/measurements.ts';
import { loadReceivers } from '../receivers/load-receivers.ts';
import type { SentBroadcast } from './publish.ts';

/**
 * Adds to each broadcast when the one before was ordered: connections that left earlier are not in the server's count.
 * @param beganAtUs that time for the first broadcast
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

type Measured = Parameters<typeof loadReceivers>[1] & Pick<Measurements, 'sent'>;

/**
 * Limits the expected copies of hosts that are gone. Such a row assumes that all connections of its host were members, although
 * some may have left, or be in another room.
 * @returns the rows; assumed ones expect at most the server's count of members, less the members on other hosts
 */
export function withLostMembers(rows: HostedRow[], { sent, ...measured }: Measured): HostedRow[] {
  if (!rows.some(({ assumed }) => assumed)) return rows;
  const sentOf = new Map(sent.map((broadcast) => [broadcast.seq, broadcast]));
  return [...Map.groupBy(rows, ({ seq }) => seq)].flatMap(([seq, pages]) => bounded(pages, sentOf.get(seq), measured));
}

function bounded(pages: HostedRow[], sent: SentBroadcast | undefined, measured: Omit<Measured, 'sent'>): HostedRow[] {
  const members = sent && loadReceivers(sent, measured);
  if (members === null || members === undefined) return pages;
  const reported = pages.filter(({ assumed }) => !assumed);
  let left = reported.reduce((rest, { expected, unexpected }) => rest - expected - unexpected, members);
  return pages.map((page) => {
    if (!page.assumed) return page;
    const expected = Math.min(page.expected, Math.max(0, left));
    left -= expected;
    return { ...page, expected, lostDisconnected: expected };
  });
}
