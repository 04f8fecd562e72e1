/** The part of one of several generator hosts. */
import { CapacityError } from '../../../protocol/errors.ts';
import { formatPath, problemsOf } from '../../../protocol/problems.ts';
import { invalidSettings } from '../invalid-settings.ts';
import { hostSchema } from '../options/plugin-options.ts';
import { withoutEmpty } from '../options/variables.ts';
import type { Script } from '../script.ts';
import type { Settings } from '../settings.ts';
import type { StepTable } from './flow.ts';
import { flowsOf, loadOf } from './load.ts';
import { type Share, sharedPhases } from './shares.ts';

/**
 * The settings of a host that brings its share of the load.
 * @param settings of the whole scenario
 * @throws CapacityError SHARE_IMPOSSIBLE
 */
export function settingsOfShare(settings: Settings, script: Script, steps: StepTable, share: Share): Settings {
  if (settings.rooms.count > 1 && share.hosts > 1 && share.index === undefined) {
    const message = 'connections are spread over rooms by their numbers, which only numbered hosts can give them';
    throw new CapacityError('SHARE_IMPOSSIBLE', message, `set CAPACITY_HOST on each host, 0 to ${share.hosts - 1}`);
  }
  const phases = sharedPhases(settings.phases, share);
  return { ...settings, phases, load: loadOf(phases, flowsOf(script, steps)) };
}

/**
 * @returns undefined on a host that conducts its run itself
 * @throws CapacityError CONFIG_INVALID
 */
export function readHost(env: NodeJS.ProcessEnv): { conductor: string; share: Share } | undefined {
  const given = withoutEmpty(env);
  if (given.CAPACITY_CONDUCTOR === undefined) return undefined;
  const { data, error } = hostSchema.safeParse(given);
  if (!data)
    throw invalidSettings(
      'CONFIG_INVALID',
      'the settings have mistakes',
      problemsOf(error, ['environment variable'], []),
    );
  const { CAPACITY_CONDUCTOR: conductor, CAPACITY_HOSTS: hosts, CAPACITY_HOST: index } = data;
  if (index !== undefined && index >= hosts) {
    const path = formatPath(['environment variable', 'CAPACITY_HOST']);
    const message = `hosts are numbered from 0, so the last one of CAPACITY_HOSTS=${hosts} is ${hosts - 1}`;
    throw invalidSettings('CONFIG_INVALID', 'the settings have mistakes', [{ path, message }]);
  }
  return { conductor, share: { hosts, index } };
}

/** Of an engine's host; the main thread has validated it. */
export function hostShareOf(env: NodeJS.ProcessEnv): Share {
  return readHost(env)?.share ?? { hosts: 1, index: undefined };
}
