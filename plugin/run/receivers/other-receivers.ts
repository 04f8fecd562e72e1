/** The run's own receivers are members of the room, too: the server counts them, and no ledger does. */
import type { SentBroadcast } from '../broadcasts/publish.ts';
import type { Measurements } from '../measurements/measurements.ts';
import { isMember } from './sentinel.ts';

type Own = Pick<Measurements, 'sentinel' | 'probeLeftAtUs' | 'receiversRoom'>;

/** @returns members of the room when it was sent, as the server counted them, without the probe and the sentinel; null if it did not */
export function otherReceivers(
  { expected, room, sentAtUs }: Pick<SentBroadcast, 'expected' | 'room' | 'sentAtUs'>,
  { sentinel, probeLeftAtUs, receiversRoom }: Own,
): number | null {
  if (expected === null || room !== receiversRoom) return expected;
  const hasProbe = probeLeftAtUs === undefined || probeLeftAtUs >= sentAtUs;
  return Math.max(0, expected - Number(hasProbe) - Number(isMember(sentinel, sentAtUs)));
}

/**
 * Counts the run's own receivers whose connection ended about when the server counted the members.
 * @returns how many it may have counted although they are not subtracted, and how many are although it may not have
 */
export function endedMeanwhile(
  { expected, room, sentAtUs, orderedAtUs = sentAtUs }: Parameters<typeof otherReceivers>[0] & { orderedAtUs?: number },
  { sentinel, probeLeftAtUs, probeReceivedAtUs, receiversRoom }: Own & Pick<Measurements, 'probeReceivedAtUs'>,
): { before: number; after: number } {
  if (expected === null || room !== receiversRoom) return { before: 0, after: 0 };
  const ends = [
    { leftAtUs: probeLeftAtUs, receivedAtUs: probeReceivedAtUs },
    { leftAtUs: sentinel?.leftAtUs, receivedAtUs: [...(sentinel?.receivedAtUs.values() ?? [])].at(-1) },
  ];
  const before = ends.filter(({ leftAtUs = 0 }) => orderedAtUs <= leftAtUs && leftAtUs < sentAtUs).length;
  // Who has no copy may have been gone to the server before we noticed.
  const after = ends.filter(
    ({ leftAtUs = 0, receivedAtUs = 0 }) => leftAtUs >= sentAtUs && receivedAtUs < sentAtUs,
  ).length;
  return { before, after };
}
