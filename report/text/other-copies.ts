/** Copies that most runs do not have: named where there are any, so that none is lost silently. */
import type { Result } from '../../protocol/result/result.ts';

/** @returns title, count and meaning of each kind that occurred */
export function otherCopies(
  delivery: NonNullable<Result['delivery']>,
): { title: string; count: number; note: string }[] {
  return [
    { title: 'Missed', count: delivery.missed, note: 'sent while their receivers, which came back, were away' },
    { title: 'Sent again', count: delivery.resent, note: 'of these, received with the restored session' },
    { title: 'Not a member', count: delivery.notMember, note: 'received by connections that never asked to join' },
    { title: 'Early', count: delivery.early, note: 'received before the send' },
    { title: 'Wrong size', count: delivery.wrongSize, note: 'payload of another length: no receipt' },
    { title: 'Wrong content', count: delivery.wrongContent, note: 'payload of other characters: no receipt' },
    {
      title: 'Unreadable',
      count: delivery.unreadable,
      note: delivery.source === 'contract' ? 'without a readable seq, time and worker' : 'without an id',
    },
    { title: 'Outside', count: delivery.outside, note: 'of ids before or after the measurement, or of others' },
    { title: 'Never ordered', count: delivery.neverOrdered, note: 'broadcasts that the run did not send' },
  ].filter(({ count }) => count > 0);
}

/** What was counted, where it is not the contract's broadcast. */
export function sourceNotes({ source, event, publisher }: NonNullable<Result['delivery']>): string[] {
  if (source === 'contract') return [];
  return [
    `Counted: \`${event}\`, published by ${publisher === 'run' ? 'connections of the run' : 'the server itself'}.`,
  ];
}
