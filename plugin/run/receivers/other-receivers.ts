/** The run's own receivers are members of the room, too: the server counts them, and no ledger does. */
import type { SentBroadcast } from '../broadcasts/publish.ts';
import type { Measurements } from '../measurements/measurements.ts';
import { isMember } from './sentinel.ts';

/** @returns members of the room when it was sent, as the server counted them, without the probe and the sentinel; null if it did not */
export function otherReceivers(
  { expected, room, sentAtUs }: Pick<SentBroadcast, 'expected' | 'room' | 'sentAtUs'>,
  { sentinel, probeLeftAtUs, receiversRoom }: Pick<Measurements, 'sentinel' | 'probeLeftAtUs' | 'receiversRoom'>,
): number | null {
  if (expected === null || room !== receiversRoom) return expected;
  const hasProbe = probeLeftAtUs === undefined || probeLeftAtUs >= sentAtUs;
  return Math.max(0, expected - Number(hasProbe) - Number(isMember(sentinel, sentAtUs)));
}
