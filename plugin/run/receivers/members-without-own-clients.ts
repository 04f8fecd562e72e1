/**
 * Subtracts the run's own receivers from the server's member count of a room, because no ledger counts their copies.
 */
import type { SentBroadcast } from '../broadcasts/publish.ts';
import type { Measurements } from '../measurements/measurements.ts';
import { wasReferenceMember } from './reference-receiver.ts';

type RunReceivers = Pick<Measurements, 'sentinel' | 'probeLeftAtUs' | 'receiversRoom'>;

/**
 * Returns the server's member count of a broadcast's room, less the probe and the reference receiver; null if the
 * server did not count.
 */
export function membersWithoutOwnClients(
  { expected, room, sentAtUs }: Pick<SentBroadcast, 'expected' | 'room' | 'sentAtUs'>,
  { sentinel, probeLeftAtUs, receiversRoom }: RunReceivers,
): number | null {
  if (expected === null || room !== receiversRoom) return expected;
  const hasProbe = probeLeftAtUs === undefined || probeLeftAtUs >= sentAtUs;
  return Math.max(0, expected - Number(hasProbe) - Number(wasReferenceMember(sentinel, sentAtUs)));
}

/**
 * Counts the run's own receivers that closed at about the time of the server's member count, so that it is uncertain
 * whether the count includes them.
 * @returns `before`: receivers that are not subtracted, although the server may have counted them; `after`: receivers
 * that are subtracted, although the server may not have counted them
 */
export function uncertainOwnMembers(
  {
    expected,
    room,
    sentAtUs,
    orderedAtUs = sentAtUs,
  }: Parameters<typeof membersWithoutOwnClients>[0] & { orderedAtUs?: number },
  { sentinel, probeLeftAtUs, probeReceivedAtUs, receiversRoom }: RunReceivers & Pick<Measurements, 'probeReceivedAtUs'>,
): { before: number; after: number } {
  if (expected === null || room !== receiversRoom) return { before: 0, after: 0 };
  const ends = [
    { leftAtUs: probeLeftAtUs, receivedAtUs: probeReceivedAtUs },
    { leftAtUs: sentinel?.leftAtUs, receivedAtUs: [...(sentinel?.receivedAtUs.values() ?? [])].at(-1) },
  ];
  const before = ends.filter(({ leftAtUs = 0 }) => orderedAtUs <= leftAtUs && leftAtUs < sentAtUs).length;
  // If a receiver got no copy, the server may have removed it before the run noticed its closed connection.
  const after = ends.filter(
    ({ leftAtUs = 0, receivedAtUs = 0 }) => leftAtUs >= sentAtUs && receivedAtUs < sentAtUs,
  ).length;
  return { before, after };
}
