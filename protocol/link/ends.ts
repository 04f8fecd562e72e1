/** Connections that closed although their virtual user had not closed them, grouped by the kind of close. */
import { z } from 'zod';
import { count, list, name, sentence } from './bounded-schemas.ts';

/** Values that the server announced in the Engine.IO handshake; 0 if missing. */
const announcedSchema = z.object({ maxPayloadBytes: count, pingIntervalMs: count, pingTimeoutMs: count });
export type Announced = z.infer<typeof announcedSchema>;

export const NOTHING_ANNOUNCED: Announced = { maxPayloadBytes: 0, pingIntervalMs: 0, pingTimeoutMs: 0 };

export const endKindSchema = z.object({
  /** Socket.IO's reason. */
  reason: name,
  /** More specific failure code, such as `closed_1009`; empty if unknown. */
  cause: name,
  /** Name of the last event that the connection received; empty if there was none. */
  event: name,
  /** Examples, made printable: the text of the close frame or of the HTTP response, and the arguments of the event. */
  words: sentence,
  text: sentence,
  count,
  announced: announcedSchema,
  /**
   * Samples of these connections: age in ms, number of messages sent, number received, bytes of the largest message
   * sent.
   */
  samples: list(z.tuple([count, count, count, count])),
});
export type EndKind = z.infer<typeof endKindSchema>;

/** Maximum number of kinds. Further kinds are counted as `other`. */
const MAX_KINDS = 50;
const MAX_SAMPLES = 200;
const OTHERS = { reason: 'other', cause: '', event: '', words: '', text: '' };

/** Adds the close of a connection to the list of kinds. */
export function addEnd(kinds: EndKind[], end: EndKind): void {
  const isSame = (kind: EndKind) => kind.reason === end.reason && kind.cause === end.cause && kind.event === end.event;
  const known = kinds.find(isSame);
  if (known) join(known, end);
  else if (kinds.length < MAX_KINDS || end.reason === OTHERS.reason) kinds.push({ ...end, samples: [...end.samples] });
  else addEnd(kinds, { ...end, ...OTHERS });
}

/** Merges the kinds of several processes or hosts. */
export function addEnds(all: EndKind[][]): EndKind[] {
  const kinds: EndKind[] = [];
  for (const end of all.flat()) addEnd(kinds, end);
  return kinds;
}

function join(kind: EndKind, end: EndKind): void {
  // Keeps the first samples. After that, every second close replaces a sample, so that both early and late samples
  // remain.
  for (const sample of end.samples) {
    if (kind.samples.length < MAX_SAMPLES) kind.samples.push(sample);
    else if (kind.count % 2 === 0) kind.samples[(kind.count / 2) % MAX_SAMPLES] = sample;
  }
  kind.count += end.count;
  kind.words ||= end.words;
  kind.text ||= end.text;
  if (kind.announced.pingTimeoutMs === 0) kind.announced = end.announced;
}
