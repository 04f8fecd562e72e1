/** The part of one of several generator hosts, as its environment names it. */
import { formatPath, problemsOf } from '../../../protocol/problems.ts';
import { invalidSettings } from '../invalid-settings.ts';
import { hostSchema } from '../options/plugin-options.ts';
import { withoutEmpty } from '../options/variables.ts';
import type { Share } from './shares.ts';

/**
 * @returns undefined on a host that conducts its run itself
 * @throws CapacityError CONFIG_INVALID
 */
export function readHost(env: NodeJS.ProcessEnv): { conductor: string; share: Share } | undefined {
  const given = withoutEmpty(env);
  if (given.CAPACITY_CONDUCTOR === undefined) return undefined;
  const { data, error } = hostSchema.safeParse(given);
  if (!data) throw invalidSettings(problemsOf(error, ['environment variable'], []));
  const { CAPACITY_CONDUCTOR: conductor, CAPACITY_HOSTS: hosts, CAPACITY_HOST: index } = data;
  if (index !== undefined && index >= hosts) {
    const path = formatPath(['environment variable', 'CAPACITY_HOST']);
    const message = `hosts are numbered from 0, so the last one of CAPACITY_HOSTS=${hosts} is ${hosts - 1}`;
    throw invalidSettings([{ path, message }]);
  }
  return { conductor, share: { hosts, index } };
}
