/** How connections ended that their virtual users did not close: one row for each kind of end. */
import { z } from 'zod';
import { count, list, name, sentence } from './bounded-schemas.ts';

/** What the server announced in its Engine.IO handshake; 0 where it announced nothing. */
export const announcedSchema = z.object({ maxPayloadBytes: count, pingIntervalMs: count, pingTimeoutMs: count });
export type Announced = z.infer<typeof announcedSchema>;

export const NOTHING_ANNOUNCED: Announced = { maxPayloadBytes: 0, pingIntervalMs: 0, pingTimeoutMs: 0 };

export const endKindSchema = z.object({
  /** Socket.IO's. */
  reason: name,
  /** Code of `failure-codes.ts` that says more than the reason, such as `closed_1009`; empty if none is known. */
  cause: name,
  /** Name of the last event that the server sent before; empty if it sent none. */
  event: name,
  /** Examples, printable: the words of the close frame or of the HTTP answer, and the arguments of the event. */
  words: sentence,
  text: sentence,
  count,
  announced: announcedSchema,
  /** Samples of these connections: age in ms, messages sent and received, bytes of the largest message sent. */
  samples: list(z.tuple([count, count, count, count])),
});
export type EndKind = z.infer<typeof endKindSchema>;

/** Further kinds are counted together. */
const MAX_KINDS = 50;
const MAX_SAMPLES = 200;
const OTHERS = { reason: 'other', cause: '', event: '', words: '', text: '' };

/** Adds an end to a list of kinds. */
export function addEnd(kinds: EndKind[], end: EndKind): void {
  const isSame = (one: EndKind) => one.reason === end.reason && one.cause === end.cause && one.event === end.event;
  const known = kinds.find(isSame);
  if (known) join(known, end);
  else if (kinds.length < MAX_KINDS || end.reason === OTHERS.reason) kinds.push({ ...end, samples: [...end.samples] });
  else addEnd(kinds, { ...end, ...OTHERS });
}

/** @returns the kinds of several processes or hosts */
export function addEnds(all: EndKind[][]): EndKind[] {
  const kinds: EndKind[] = [];
  for (const end of all.flat()) addEnd(kinds, end);
  return kinds;
}

function join(kind: EndKind, end: EndKind): void {
  // The n-th end has room as long as few have come, and takes turns with the others later, so that early and late ones are there.
  for (const sample of end.samples) {
    if (kind.samples.length < MAX_SAMPLES) kind.samples.push(sample);
    else if (kind.count % 2 === 0) kind.samples[(kind.count / 2) % MAX_SAMPLES] = sample;
  }
  kind.count += end.count;
  kind.words ||= end.words;
  kind.text ||= end.text;
  if (kind.announced.pingTimeoutMs === 0) kind.announced = end.announced;
}
