/**
 * Builds the requests to finalize ledger rows, and corrects the rows of lost generator hosts with the server's member
 * counts.
 */
import type { FreezeRequest } from '../../../protocol/link/ledger-messages.ts';
import type { HostedRow } from '../link.ts';
import type { Measurements } from '../measurements/measurements.ts';
import { membersWithoutOwnClients } from '../receivers/members-without-own-clients.ts';
import type { SentBroadcast } from './publish.ts';

/**
 * Adds to each broadcast the time at which the previous broadcast was requested. Connections that closed before that
 * time are not in the server's member count.
 * @param beganAtUs time to use for the first broadcast
 */
export function freezeRequestsOf(sent: SentBroadcast[], beganAtUs: number): FreezeRequest[] {
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

type Measured = Parameters<typeof membersWithoutOwnClients>[1] & Pick<Measurements, 'sent'>;

/**
 * Limits the expected copies of lost generator hosts. The row of a lost host assumes that all its connections were
 * members of the room, but some may have left or joined another room.
 * @returns the rows; the row of a lost host expects at most the server's member count, less the members on other hosts
 */
export function limitLostMembers(rows: HostedRow[], { sent, ...measured }: Measured): HostedRow[] {
  if (!rows.some(({ assumed }) => assumed)) return rows;
  const sentOf = new Map(sent.map((broadcast) => [broadcast.seq, broadcast]));
  return [...Map.groupBy(rows, ({ seq }) => seq)].flatMap(([seq, pages]) => bounded(pages, sentOf.get(seq), measured));
}

function bounded(pages: HostedRow[], sent: SentBroadcast | undefined, measured: Omit<Measured, 'sent'>): HostedRow[] {
  const members = sent && membersWithoutOwnClients(sent, measured);
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
