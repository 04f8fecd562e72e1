/**
 * Builds the requests to finalize the ledger rows of the server's own event, and decides whether latency is measured
 * from the send time in the payload.
 */

import type { FreezeRequest, OwnEventSighting, OwnEventSightings } from '../../../protocol/link/ledger-messages.ts';
import type { LatencyFrom } from '../../../protocol/result/latency-schema.ts';
import { roomKeyOfOwnBroadcast } from '../../../protocol/wire/rooms.ts';
import { measureEpochOffsetUs, type StampedBroadcast, sentTimes } from './sent-times.ts';

/**
 * Merges the reports of the fleet processes about each broadcast id.
 * @returns the ids in the order of their first copies; `counted` is true if every process counts the id
 */
export function mergeSightings(sightings: OwnEventSightings[]): OwnEventSighting[] {
  const byId = new Map<string, OwnEventSighting>();
  for (const sighting of sightings.flatMap(({ ids }) => ids)) {
    const known = byId.get(sighting.id);
    if (!known) byId.set(sighting.id, { ...sighting });
    else {
      const { firstAtUs, sentAt = known.sentAt } = sighting;
      if (firstAtUs < known.firstAtUs) Object.assign(known, { firstAtUs, sentAt });
      known.reached += sighting.reached;
      known.counted &&= sighting.counted;
    }
  }
  return [...byId.values()].sort((a, b) => a.firstAtUs - b.firstAtUs);
}

/** A broadcast that the run's publishers or the server sent. Times are on CLOCK_MONOTONIC. */
export interface OrderedBroadcast {
  seq: number;
  id: string;
  /** Time of the emit or of the first copy. Members at this time should receive the broadcast. */
  membersAtUs: number;
  intendedAtUs: number;
  /** Reports of the fleet processes about the broadcast's copies; undefined if no copy has arrived. */
  sighting: OwnEventSighting | undefined;
  /** The send time that the run's publisher wrote into the payload. */
  publishedSentAt?: number;
}

/**
 * Decides from which time latency is measured: the time in the payload, the emit, or the first copy. The first
 * broadcasts decide for the whole run, because latencies with different starting points cannot be merged.
 */
export class LatencyBasis {
  /**
   * Reason why the payload's time is not used, for some broadcasts or for all. Only set if the options configure a path
   * to such a time.
   */
  unusable: string | undefined;
  /**
   * Number of broadcasts without a latency because the time in their payload is unusable, although other broadcasts
   * have a usable time.
   */
  untimed = 0;
  readonly #otherwise: LatencyFrom;
  #usesPayload: boolean | undefined;

  /**
   * @param hasSentAt whether the options configure a path to a send time in the payload
   * @param otherwise from which time latency is measured if the payload's time is unusable
   */
  constructor(hasSentAt: boolean, otherwise: LatencyFrom) {
    this.#otherwise = otherwise;
    if (!hasSentAt) this.#usesPayload = false;
  }

  get from(): LatencyFrom {
    return this.#usesPayload ? 'payload' : this.#otherwise;
  }

  orders(broadcasts: OrderedBroadcast[]): FreezeRequest[] {
    const epochOffsetUs = measureEpochOffsetUs();
    this.#usesPayload ??= this.#decide(broadcasts, epochOffsetUs);
    return broadcasts.map(({ seq, id, membersAtUs, intendedAtUs, sighting, publishedSentAt }) => ({
      ...{ seq, id, room: roomKeyOfOwnBroadcast(id) },
      ...{ sentAtUs: membersAtUs, intendedAtUs },
      ...(this.#usesPayload && sighting
        ? { latencyFromAtUs: this.#timeOf({ ...sighting, ...emitOf({ publishedSentAt, membersAtUs }) }, epochOffsetUs) }
        : {}),
    }));
  }

  /** Returns whether latency is measured from the payload's time; undefined while no copy has arrived. */
  #decide(broadcasts: OrderedBroadcast[], epochOffsetUs: number): boolean | undefined {
    const received = broadcasts.flatMap(({ sighting, publishedSentAt, membersAtUs }) =>
      sighting ? [{ ...sighting, publishedSentAt, ...emitOf({ publishedSentAt, membersAtUs }) }] : [],
    );
    if (received.length === 0) return undefined;
    // The server forwards the time that the run's publisher wrote, so the run uses its own, more precise time.
    if (
      received.every(
        ({ sentAt, publishedSentAt }) => publishedSentAt !== undefined && String(sentAt) === String(publishedSentAt),
      )
    )
      return false;
    const times = sentTimes(received, epochOffsetUs);
    if ('atUs' in times) return true;
    this.unusable = times.unusable;
    return false;
  }

  #timeOf(stamped: StampedBroadcast, epochOffsetUs: number): number | null {
    const times = sentTimes([stamped], epochOffsetUs);
    if ('atUs' in times) return times.atUs[0] as number;
    this.unusable ??= times.unusable;
    this.untimed++;
    return null;
  }
}

/** Returns the time of the broadcast's emit; undefined if the run did not publish the broadcast. */
function emitOf({
  publishedSentAt,
  membersAtUs,
}: Pick<OrderedBroadcast, 'publishedSentAt' | 'membersAtUs'>): Pick<StampedBroadcast, 'emittedAtUs'> {
  return publishedSentAt === undefined ? {} : { emittedAtUs: membersAtUs };
}
