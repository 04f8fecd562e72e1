/** From what the fleet processes have seen of broadcasts to what the ledgers finalize: from when on they are timed. */

import type { FreezeOrder } from '../../../protocol/link/ledger-messages.ts';
import type { Sighting, Sightings } from '../../../protocol/link/sightings.ts';
import type { LatencyFrom } from '../../../protocol/result/latency-schema.ts';
import { placeOfCounted } from '../../../protocol/wire/counted-as.ts';
import { measureEpochOffsetUs, type Stamped, sentTimes } from './sent-times.ts';

/** @returns what all processes together have seen, in the order of the first receipts anywhere; counted where all count it */
export function allSeen(sightings: Sightings[]): Sighting[] {
  const byId = new Map<string, Sighting>();
  for (const one of sightings.flatMap(({ ids }) => ids)) {
    const known = byId.get(one.id);
    if (!known) byId.set(one.id, { ...one });
    else {
      const { firstAtUs, sentAt = known.sentAt } = one;
      if (firstAtUs < known.firstAtUs) Object.assign(known, { firstAtUs, sentAt });
      known.reached += one.reached;
      known.counted &&= one.counted;
    }
  }
  return [...byId.values()].sort((a, b) => a.firstAtUs - b.firstAtUs);
}

/** A broadcast of the run. Times on CLOCK_MONOTONIC. */
export interface Broadcast {
  seq: number;
  id: string;
  /** Who is a member now is to receive it: its emit, or its first receipt anywhere. */
  cutUs: number;
  intendedAtUs: number;
  /** Undefined if nobody has got it. */
  seen: Sighting | undefined;
  /** The time that the run's publisher wrote into it. */
  own?: number;
}

/** What latencies count from: decided with the first orders, as latencies from different events cannot be added. */
export class LatencyBasis {
  /** Why the payload's time is not used, or not of all broadcasts, although the option names it. */
  unusable: string | undefined;
  /** Broadcasts without latencies, although the times of others are used. */
  untimed = 0;
  readonly #otherwise: LatencyFrom;
  #usesPayload: boolean | undefined;

  /** @param hasSentAt the options name a time in the payload @param otherwise what is known without it */
  constructor(hasSentAt: boolean, otherwise: LatencyFrom) {
    this.#otherwise = otherwise;
    if (!hasSentAt) this.#usesPayload = false;
  }

  get from(): LatencyFrom {
    return this.#usesPayload ? 'payload' : this.#otherwise;
  }

  orders(broadcasts: Broadcast[]): FreezeOrder[] {
    const epochOffsetUs = measureEpochOffsetUs();
    this.#usesPayload ??= this.#decide(broadcasts, epochOffsetUs);
    return broadcasts.map(({ seq, id, cutUs, intendedAtUs, seen, own }) => ({
      ...{ seq, id, room: placeOfCounted(id) },
      ...{ sentAtUs: cutUs, intendedAtUs },
      ...(this.#usesPayload && seen
        ? { latencyFromAtUs: this.#timeOf({ ...seen, ...emitOf({ own, cutUs }) }, epochOffsetUs) }
        : {}),
    }));
  }

  /** @returns undefined as long as nothing has arrived */
  #decide(broadcasts: Broadcast[], epochOffsetUs: number): boolean | undefined {
    const received = broadcasts.flatMap(({ seen, own, cutUs }) =>
      seen ? [{ ...seen, own, ...emitOf({ own, cutUs }) }] : [],
    );
    if (received.length === 0) return undefined;
    // Our own time that came back is that of the emit, which we know more precisely.
    if (received.every(({ sentAt, own }) => own !== undefined && String(sentAt) === String(own))) return false;
    const times = sentTimes(received, epochOffsetUs);
    if ('atUs' in times) return true;
    this.unusable = times.unusable;
    return false;
  }

  #timeOf(seen: Stamped, epochOffsetUs: number): number | null {
    const times = sentTimes([seen], epochOffsetUs);
    if ('atUs' in times) return times.atUs[0] as number;
    this.unusable ??= times.unusable;
    this.untimed++;
    return null;
  }
}

/** When the run published it, if it did. */
function emitOf({ own, cutUs }: Pick<Broadcast, 'own' | 'cutUs'>): Pick<Stamped, 'emittedAtUs'> {
  return own === undefined ? {} : { emittedAtUs: cutUs };
}
