/** Subtracts the run's own receivers from the server's count of a room's members: no ledger counts their copies. */
import type { SentBroadcast } from '../broadcasts/publish.ts';
import type { Measurements } from '../measurements/measurements.ts';
import { isMember } from './sentinel.ts';

type RunReceivers = Pick<Measurements, 'sentinel' | 'probeLeftAtUs' | 'receiversRoom'>;

/** Returns the server's count of a broadcast's room members, less the probe and the reference receiver; null if it counted none. */
export function loadReceivers(
  { expected, room, sentAtUs }: Pick<SentBroadcast, 'expected' | 'room' | 'sentAtUs'>,
  { sentinel, probeLeftAtUs, receiversRoom }: RunReceivers,
): number | null {
  if (expected === null || room !== receiversRoom) return expected;
  const hasProbe = probeLeftAtUs === undefined || probeLeftAtUs >= sentAtUs;
  return Math.max(0, expected - Number(hasProbe) - Number(isMember(sentinel, sentAtUs)));
}

/**
 * Counts the run's own receivers that closed about when the server counted the members, so that the subtraction may be wrong.
 * @returns `before`: not subtracted, although the server may have counted them; `after`: subtracted, although the server may not have
 * counted them
 */
export function uncertainMembers(
  { expected, room, sentAtUs, orderedAtUs = sentAtUs }: Parameters<typeof loadReceivers>[0] & { orderedAtUs?: number },
  { sentinel, probeLeftAtUs, probeReceivedAtUs, receiversRoom }: RunReceivers & Pick<Measurements, 'probeReceivedAtUs'>,
): { before: number; after: number } {
  if (expected === null || room !== receiversRoom) return { before: 0, after: 0 };
  const ends = [
    { leftAtUs: probeLeftAtUs, receivedAtUs: probeReceivedAtUs },
    { leftAtUs: sentinel?.leftAtUs, receivedAtUs: [...(sentinel?.receivedAtUs.values() ?? [])].at(-1) },
  ];
  const before = ends.filter(({ leftAtUs = 0 }) => orderedAtUs <= leftAtUs && leftAtUs < sentAtUs).length;
  // The server may have dropped a receiver without a copy before the run noticed.
  const after = ends.filter(
    ({ leftAtUs = 0, receivedAtUs = 0 }) => leftAtUs >= sentAtUs && receivedAtUs < sentAtUs,
  ).length;
  return { before, after };
}
