/** Which hosts a run takes: as many as it was told, of one version and scenario, whose shares add up to the whole load. */

import { printable } from '../../../protocol/base/printable.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { differences, type Inputs } from '../../script/run-inputs.ts';
import { ENGINE } from '../../script/script.ts';
import type { Settings } from '../../script/settings.ts';
import type { Host } from './host.ts';
import type { Hello, Refusal } from './host-messages.ts';

/** Differences that a refusal names. */
const MAX_NAMED = 5;
const MAX_NAMES_LENGTH = 300;

export interface Expected {
  hosts: number;
  version: string;
  inputs: Inputs;
  /** The whole scenario's, phase by phase. */
  arrivals: number[];
}

/** `endsRun`: the host was to take part, and the run cannot be without it. */
type Refused = Refusal & { endsRun: boolean };

/** On both sides. @throws CapacityError CONFIG_INVALID */
export function requireOwnEngine({ engine }: Pick<Settings, 'engine'>): void {
  if (engine === ENGINE) return;
  const message = `engine ${engine} reports nothing to a run, so several hosts cannot be conducted with it`;
  throw new CapacityError('CONFIG_INVALID', message, `use engine ${ENGINE}`);
}

/**
 * @param others hosts that are here already
 * @param lost why the same host, which was here before, was given up: others answer for it by now
 * @param isOld it has been in another run, whose connections it may still hold
 */
export function whyNotAdmitted(
  hello: Hello,
  expected: Expected,
  others: Host[],
  lost: string | undefined,
  isOld: boolean,
): Refused | undefined {
  const refused = (message: string, fix: string, endsRun = true): Refused => {
    return { code: 'HOSTS_DISAGREE', message, fix, endsRun };
  };
  if (lost !== undefined) return refused(lost, 'see the output of Artillery on that host', false);
  if (isOld) return refused('it belongs to an earlier run', 'start Artillery there again', false);
  if (others.length >= expected.hosts) {
    const names = others.map(({ name }) => name).join(', ');
    const message = `the run has its ${expected.hosts} hosts: ${names}`;
    return refused(message, 'start Artillery on as many hosts as `conduct --hosts` says, once on each', false);
  }
  if (hello.version !== expected.version) {
    const message = `it has version ${hello.version} of the plugin, the conductor has ${expected.version}`;
    return refused(message, 'install the same version on all hosts');
  }
  const different = differences(hello.inputs, expected.inputs);
  if (different.length > 0) {
    const more = different.length > MAX_NAMED ? ' and more' : '';
    const names = printable(different.slice(0, MAX_NAMED).join(', '), MAX_NAMES_LENGTH) + more;
    return refused(
      `it differs from the conductor in: ${names}`,
      'give all hosts the same files, the same --environment, and the same variables (RATE, TARGET, …)',
    );
  }
  if (hello.hosts !== expected.hosts) {
    const message = `it takes its share as one of ${hello.hosts} host${hello.hosts === 1 ? '' : 's'}, the conductor expects ${expected.hosts}`;
    return refused(message, `set CAPACITY_HOSTS=${expected.hosts} on every host`);
  }
  const twin = others.find(({ hello: { index } }) => index !== undefined && index === hello.index);
  if (twin) {
    const message = `it has the same index as ${twin.name}: CAPACITY_HOST=${hello.index}`;
    return refused(message, `number the hosts: CAPACITY_HOST=0 to ${expected.hosts - 1}`);
  }
  return undefined;
}

/** @returns why the shares of all hosts are not the scenario; undefined while some are missing */
export function whyNotTogether(hosts: Host[], { hosts: count, arrivals }: Expected): CapacityError | undefined {
  if (hosts.length < count) return undefined;
  const sums = arrivals.map((_, phase) => hosts.reduce((sum, { hello }) => sum + (hello.arrivals[phase] ?? 0), 0));
  const wrong = sums.findIndex((sum, phase) => sum !== arrivals[phase]);
  if (wrong < 0) return undefined;
  const each = hosts.map(({ name, hello }) => `${name} ${hello.arrivals[wrong] ?? 0}`).join(', ');
  return new CapacityError(
    'HOSTS_DISAGREE',
    `the shares of phase ${wrong + 1} bring ${sums[wrong]} arrivals, the scenario ${arrivals[wrong]}: ${each}`,
    'set CAPACITY_HOST on all hosts, or on none',
  );
}

/** @param here hosts that are here, some of which may not have got ready */
export function hostsMissing(here: readonly Host[], { hosts }: Expected, timeoutMs: number): CapacityError {
  const namesOf = (some: readonly Host[]) => some.map(({ name }) => name).join(', ');
  const unfit = here.filter(({ fits }) => !fits);
  const seconds = Math.round(timeoutMs / 1000);
  const message =
    here.length < hosts
      ? `${hosts - here.length} of ${hosts} hosts did not come within ${seconds} s; here ${here.length === 1 ? 'is' : 'are'} ${namesOf(here) || 'none'}`
      : `${namesOf(unfit)} did not get ready within ${seconds} s`;
  const fix =
    'start `artillery run` on each host with the line above; can they reach this host’s port, through every firewall?';
  return new CapacityError('HOSTS_MISSING', message, fix);
}
