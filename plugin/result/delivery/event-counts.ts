/** How evenly the copies of events without ids reached the connections. */
import type { Result } from '../../../protocol/result/result.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { sum } from '../sums.ts';

/** Time by which two connections' counts may be read apart, or copies be under way, at both ends together. */
const EDGE_SECONDS = 0.5;

export function eventCountFigures({ eventCounts }: Measurements): Result['eventCounts'] {
  if (!eventCounts) return [];
  const { seconds, counts, counters, fromUsers } = eventCounts;
  const byEvent = Map.groupBy(counts, ({ event }) => event);
  return [...byEvent].map(([event, parts]) => {
    const all = parts.flatMap(({ byCount }) => byCount);
    const most = Math.max(0, ...all.map(([copies]) => copies));
    const fewest = Math.min(most, ...all.map(([copies]) => copies));
    const isFromUsers = fromUsers.includes(event);
    const sent = isFromUsers ? sum(parts.map((part) => part.sent)) : (counters[event] ?? null);
    const base = sent ?? most;
    const tolerated = 1 + Math.ceil((base / seconds) * EDGE_SECONDS);
    // A server that also sends to the connection from which a message came shows it by a connection that got more than the others sent.
    const echoes = !isFromUsers || all.some(([copies, own]) => copies > base - own + tolerated);
    const missing = (allowed: number) =>
      sum(all.map(([copies, own, of]) => of * Math.max(0, base - (echoes ? 0 : own) - copies - allowed)));
    return {
      ...{ event, seconds, sent, most, fewest },
      receivers: sum(all.map(([, , of]) => of)),
      copies: sum(all.map(([copies, , of]) => of * copies)),
      missingAtLeast: missing(tolerated),
      missingAtMost: missing(0),
    };
  });
}
