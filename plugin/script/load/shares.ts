/** Divides a scenario's phases among several hosts. All shares together have exactly the scenario's arrivals. */
import { problemsOfZodError } from '../../../protocol/base/problems.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { InvalidSettings } from '../invalid-settings.ts';
import { hostEnvironmentSchema, withoutEmpty } from '../options/plugin-options.ts';
import { arrivalsOf, exactRamp, type Phase } from './phases.ts';

export interface HostShare {
  hosts: number;
  /** Number of this host, from 0. Undefined if hosts have no numbers; then all hosts get equal shares. */
  index: number | undefined;
}

export const WHOLE_LOAD: HostShare = { hosts: 1, index: undefined };

/**
 * Returns a host's share of the phases.
 * @param rooms number of rooms over which connections are spread
 * @throws CapacityError RATE_IMPOSSIBLE if the arrivals cannot be divided among the hosts
 */
export function phasesOfHost(phases: Phase[], share: HostShare, rooms = 1): Phase[] {
  if (rooms > 1 && share.hosts > 1 && share.index === undefined) {
    const message = 'connections are assigned to rooms by their numbers, which requires numbered hosts';
    throw new CapacityError('RATE_IMPOSSIBLE', message, `set CAPACITY_HOST on each host, 0 to ${share.hosts - 1}`);
  }
  return phases.map((phase, number) => {
    const shared = shareOf(phase, share);
    if (shared === undefined) throw impossible(phase, number, share);
    return shared;
  });
}

/** Returns a host's share of a phase; undefined if the phase cannot be divided. */
function shareOf(phase: Phase, share: HostShare): Phase | undefined {
  const { arrivalRate = 0, rampTo, maxVusers } = phase;
  const arrivals = arrivalsOf(phase);
  if (arrivals === 0 || share.hosts === 1) return phase;
  const limit = maxVusers === undefined ? {} : { maxVusers: partOf(maxVusers, share) };
  if (Object.values(limit).some((users) => !users)) return undefined;
  const withShare = (change: Partial<Phase> | undefined) => change && { ...phase, ...limit, ...change };
  if (rampTo === undefined) {
    const key = arrivalRate > 0 ? 'arrivalRate' : 'arrivalCount';
    const part = partOf(phase[key] ?? 0, share);
    return withShare(part ? { [key]: part } : undefined);
  }
  if (rampTo === arrivalRate && Number.isInteger(rampTo)) {
    const rate = partOf(rampTo, share);
    return withShare(rate ? { arrivalRate: rate, rampTo: rate } : undefined);
  }
  if (Math.abs(rampTo - arrivalRate) <= 1) {
    const part = partOf(arrivals, share);
    return withShare(part ? exactRamp(part, part / (phase.duration ?? 1)) : undefined);
  }
  // Artillery rounds the arrivals of each second, so equal shares may not add up to the arrivals of the whole phase.
  const slope = withShare({ arrivalRate: arrivalRate / share.hosts, rampTo: rampTo / share.hosts });
  return slope && arrivalsOf(slope) * share.hosts === arrivals ? slope : undefined;
}

/**
 * Returns a host's part of a number. Undefined if the part would be 0, or if the parts would differ although hosts have
 * no numbers.
 */
function partOf(whole: number, { hosts, index }: HostShare): number | undefined {
  const part = Math.floor(whole / hosts);
  const rest = whole - part * hosts;
  if (part === 0 || (rest > 0 && (index === undefined || !Number.isInteger(whole)))) return undefined;
  return part + ((index ?? 0) < rest ? 1 : 0);
}

function impossible(phase: Phase, number: number, { hosts, index }: HostShare): CapacityError {
  const { name = '', arrivalRate, rampTo = arrivalRate } = phase;
  const what = arrivalRate === undefined ? `${arrivalsOf(phase)} arrivals` : `${rampTo} arrivals/s`;
  const numberHosts = index === undefined ? `number the hosts (CAPACITY_HOST=0 to ${hosts - 1}), or ` : '';
  return new CapacityError(
    'RATE_IMPOSSIBLE',
    `phase ${number + 1}${name && ` (${name})`} cannot be divided among ${hosts} hosts: ${what}${index === undefined ? ', in equal shares' : ''}`,
    `${numberHosts}change the rate, or the number of hosts`,
  );
}

/**
 * Reads the environment variables of a generator host.
 * @returns undefined if this machine is not a generator host of a conductor
 * @throws CapacityError CONFIG_INVALID
 */
export function readHostVariables(env: NodeJS.ProcessEnv): { conductor: string; share: HostShare } | undefined {
  const given = withoutEmpty(env);
  if (given.CAPACITY_CONDUCTOR === undefined) return undefined;
  const { data, error } = hostEnvironmentSchema
    .refine(({ CAPACITY_HOST: index = 0, CAPACITY_HOSTS: count }) => index < count, {
      path: ['CAPACITY_HOST'],
      error: 'hosts are numbered from 0 to CAPACITY_HOSTS - 1',
    })
    .safeParse(given);
  if (!data) throw new InvalidSettings(problemsOfZodError(error, ['environment variable']));
  const { CAPACITY_CONDUCTOR: conductor, CAPACITY_HOSTS: hosts, CAPACITY_HOST: index } = data;
  return { conductor, share: { hosts, index } };
}
