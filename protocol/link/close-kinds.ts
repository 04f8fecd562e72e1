/** Connections that closed although their virtual user had not closed them, grouped by the kind of close. */
import { z } from 'zod';
import { boundedCount, boundedList, boundedName, boundedText } from './bounded-schemas.ts';

/** Values that the server announced in the Engine.IO handshake; 0 if a value is missing. */
const announcedSchema = z.object({
  maxPayloadBytes: boundedCount,
  pingIntervalMs: boundedCount,
  pingTimeoutMs: boundedCount,
});
export type HandshakeSettings = z.infer<typeof announcedSchema>;

export const NO_HANDSHAKE_SETTINGS: HandshakeSettings = { maxPayloadBytes: 0, pingIntervalMs: 0, pingTimeoutMs: 0 };

export const closeKindSchema = z.object({
  /** Socket.IO's reason. */
  reason: boundedName,
  /** Failure code that is more specific than the reason, such as `closed_1009`; empty if unknown. */
  cause: boundedName,
  /** Name of the last event that the connection received; empty if there was none. */
  event: boundedName,
  /**
   * Example texts, made printable. `closeText`: text of the close frame or of the HTTP response. `text`: arguments of the
   * last event.
   */
  closeText: boundedText,
  text: boundedText,
  count: boundedCount,
  announced: announcedSchema,
  /**
   * Samples of connections that closed in this way: age in ms, number of messages sent, number received, bytes of the
   * largest message sent.
   */
  samples: boundedList(z.tuple([boundedCount, boundedCount, boundedCount, boundedCount])),
});
export type CloseKind = z.infer<typeof closeKindSchema>;

/** Maximum number of kinds of closes. Further kinds are counted as `other`. */
const MAX_KINDS = 50;
const MAX_SAMPLES = 200;
const OTHERS = { reason: 'other', cause: '', event: '', closeText: '', text: '' };

/** Adds the close of a connection to the list of kinds. */
export function addCloseKind(kinds: CloseKind[], end: CloseKind): void {
  const isSame = (kind: CloseKind) =>
    kind.reason === end.reason && kind.cause === end.cause && kind.event === end.event;
  const known = kinds.find(isSame);
  if (known) join(known, end);
  else if (kinds.length < MAX_KINDS || end.reason === OTHERS.reason) kinds.push({ ...end, samples: [...end.samples] });
  else addCloseKind(kinds, { ...end, ...OTHERS });
}

/** Merges the lists of kinds from several processes or hosts. */
export function mergeCloseKinds(all: CloseKind[][]): CloseKind[] {
  const kinds: CloseKind[] = [];
  for (const end of all.flat()) addCloseKind(kinds, end);
  return kinds;
}

function join(kind: CloseKind, end: CloseKind): void {
  // Keeps the first samples. After that, every second close replaces a sample, so that both early and late samples
  // remain.
  for (const sample of end.samples) {
    if (kind.samples.length < MAX_SAMPLES) kind.samples.push(sample);
    else if (kind.count % 2 === 0) kind.samples[(kind.count / 2) % MAX_SAMPLES] = sample;
  }
  kind.count += end.count;
  kind.closeText ||= end.closeText;
  kind.text ||= end.text;
  if (kind.announced.pingTimeoutMs === 0) kind.announced = end.announced;
}
