/** One host's share of a scenario's phases. The shares of all hosts add up to exactly the scenario's arrivals. */
import { CapacityError } from '../../../protocol/errors.ts';
import { exactRamp } from './load-profile.ts';
import { arrivalsOf, type Phase } from './phases.ts';

export interface Share {
  hosts: number;
  /** From 0; undefined where the hosts do not know which one they are, so that all must have the same share. */
  index: number | undefined;
}

export const WHOLE: Share = { hosts: 1, index: undefined };

/**
 * @param rooms over which the connections are spread
 * @throws CapacityError RATE_IMPOSSIBLE, with the nearest numbers of hosts that are possible
 */
export function sharedPhases(phases: Phase[], share: Share, rooms = 1): Phase[] {
  if (rooms > 1 && share.hosts > 1 && share.index === undefined) {
    const message = 'connections are spread over rooms by their numbers, which only numbered hosts can give them';
    throw new CapacityError('RATE_IMPOSSIBLE', message, `set CAPACITY_HOST on each host, 0 to ${share.hosts - 1}`);
  }
  return phases.map((phase, number) => {
    const shared = shareOf(phase, share);
    if (shared === undefined) throw impossible(phases, phase, number, share);
    return shared;
  });
}

/** @returns undefined if the phase cannot be divided so */
function shareOf(phase: Phase, share: Share): Phase | undefined {
  const { arrivalRate = 0, rampTo, arrivalCount, maxVusers } = phase;
  const arrivals = arrivalsOf(phase);
  if (arrivals === 0 || share.hosts === 1) return phase;
  const most = maxVusers === undefined ? {} : { maxVusers: partOf(maxVusers, share) };
  if (Object.values(most).some((users) => !users)) return undefined;
  if (rampTo === undefined && arrivalRate > 0) return withRate(partOf(arrivalRate, share));
  if (rampTo === undefined) return counted('arrivalCount', partOf(arrivalCount ?? 0, share));
  if (rampTo === arrivalRate && Number.isInteger(rampTo)) {
    const rate = partOf(rampTo, share);
    return rate ? { ...phase, ...most, arrivalRate: rate, rampTo: rate } : undefined;
  }
  // A flat ramp of a fractional rate rises by one at most.
  if (Math.abs(rampTo - arrivalRate) <= 1) {
    const part = partOf(arrivals, share);
    return part ? { ...phase, ...most, ...exactRamp(part, part / (phase.duration ?? 1)) } : undefined;
  }
  return slope();

  function withRate(rate: number | undefined): Phase | undefined {
    return counted('arrivalRate', rate);
  }

  function counted(key: 'arrivalRate' | 'arrivalCount', part: number | undefined): Phase | undefined {
    return part ? { ...phase, ...most, [key]: part } : undefined;
  }

  /** Artillery rounds the arrivals of each second: divided, they must still add up. */
  function slope(): Phase | undefined {
    const { hosts } = share;
    const part: Phase = { ...phase, ...most, arrivalRate: arrivalRate / hosts, rampTo: (rampTo ?? 0) / hosts };
    return arrivalsOf(part) * hosts === arrivals ? part : undefined;
  }
}

/** @returns undefined if it cannot be divided into whole numbers, without an index into equal ones; or nothing is left for a host */
function partOf(whole: number, { hosts, index }: Share): number | undefined {
  const part = Math.floor(whole / hosts);
  const rest = whole - part * hosts;
  if (part === 0 || (rest > 0 && (index === undefined || !Number.isInteger(whole)))) return undefined;
  return part + ((index ?? 0) < rest ? 1 : 0);
}

function impossible(phases: Phase[], phase: Phase, number: number, { hosts, index }: Share): CapacityError {
  const { name = '', arrivalRate, rampTo = arrivalRate } = phase;
  const fits = (count: number, nth: number | undefined) =>
    phases.every((one) => shareOf(one, { hosts: count, index: nth }) !== undefined);
  const possible: number[] = [];
  for (let step = 1; step < hosts && possible.length < 2; step++) {
    for (const count of [hosts - step, hosts + step]) if (fits(count, index)) possible.push(count);
  }
  const what = arrivalRate === undefined ? `${arrivalsOf(phase)} arrivals` : `${rampTo} arrivals/s`;
  const withIndex = index === undefined && fits(hosts, 0) ? `number the hosts (CAPACITY_HOST=0 to ${hosts - 1}), ` : '';
  const nearest = possible.length > 0 ? `use ${possible.slice(0, 2).join(' or ')} hosts, ` : '';
  return new CapacityError(
    'RATE_IMPOSSIBLE',
    `phase ${number + 1}${name && ` (${name})`} cannot be divided among ${hosts} hosts: ${what}${index === undefined ? ', in equal shares' : ''}`,
    `${withIndex}${nearest}or change the rate`,
  );
}
