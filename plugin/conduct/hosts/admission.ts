/**
 * Admits generator hosts to a run: as many as expected, with the same version and scenario, and with shares that add up
 * to the whole load.
 */
import { printableLine } from '../../../protocol/base/printable.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { differingInputs, type RunInputs } from '../../script/run-inputs.ts';
import { ENGINE_NAME } from '../../script/script.ts';
import type { Settings } from '../../script/settings.ts';
import type { JoinedHost } from './host.ts';
import type { HostHello, HostRefusalReason } from './host-messages.ts';

/** Maximum number of differences that a refusal lists. */
const MAX_DIFFERENCES = 5;
const MAX_DIFFERENCES_LENGTH = 300;

export interface ExpectedHosts {
  hosts: number;
  version: string;
  inputs: RunInputs;
  /** Number of arrivals of the whole scenario, by phase. */
  arrivals: number[];
}

/** `endsRun`: whether the refusal ends the run, because the run needs this host. */
type HostRefusal = HostRefusalReason & { endsRun: boolean };

/**
 * Checks that the scenario's engine works with several hosts.
 * @throws CapacityError CONFIG_INVALID
 */
export function requireOwnEngine({ engine }: Pick<Settings, 'engine'>): void {
  if (engine === ENGINE_NAME) return;
  const message = `engine ${engine} cannot be used on several hosts: it reports nothing to the run`;
  throw new CapacityError('CONFIG_INVALID', message, `use engine ${ENGINE_NAME}`);
}

/**
 * Returns why the run refuses a host; undefined if the host is admitted.
 * @param admitted hosts that have joined already
 * @param lostReason why the run had declared the same host lost, if it did
 * @param isOld whether the host took part in another run and may still hold connections of that run
 */
export function admissionRefusal(
  hello: HostHello,
  expected: ExpectedHosts,
  admitted: JoinedHost[],
  lostReason: string | undefined,
  isOld: boolean,
): HostRefusal | undefined {
  const refused = (message: string, fix: string, endsRun = true): HostRefusal => {
    return { code: 'HOSTS_DISAGREE', message, fix, endsRun };
  };
  if (lostReason !== undefined) return refused(lostReason, 'see the output of Artillery on that host', false);
  if (isOld) return refused('it belongs to an earlier run', 'start Artillery there again', false);
  if (admitted.length >= expected.hosts) {
    const names = admitted.map(({ name }) => name).join(', ');
    const message = `the run already has its ${expected.hosts} hosts: ${names}`;
    return refused(message, 'start Artillery on as many hosts as `conduct --hosts` says, once on each', false);
  }
  if (hello.version !== expected.version) {
    const message = `it has version ${hello.version} of the plugin, the conductor has ${expected.version}`;
    return refused(message, 'install the same version on all hosts');
  }
  const different = differingInputs(hello.inputs, expected.inputs);
  if (different.length > 0) {
    const more = different.length > MAX_DIFFERENCES ? ' and more' : '';
    const names = printableLine(different.slice(0, MAX_DIFFERENCES).join(', '), MAX_DIFFERENCES_LENGTH) + more;
    return refused(
      `it differs from the conductor in: ${names}`,
      'give all hosts the same files, the same --environment, and the same variables (RATE, TARGET, …)',
    );
  }
  if (hello.hosts !== expected.hosts) {
    const message = `it takes its share as one of ${hello.hosts} host${hello.hosts === 1 ? '' : 's'}, but the conductor expects ${expected.hosts}`;
    return refused(message, `set CAPACITY_HOSTS=${expected.hosts} on every host`);
  }
  const sameIndex = admitted.find(({ hello: { index } }) => index !== undefined && index === hello.index);
  if (sameIndex) {
    const message = `it has the same index as ${sameIndex.name}: CAPACITY_HOST=${hello.index}`;
    return refused(message, `number the hosts: CAPACITY_HOST=0 to ${expected.hosts - 1}`);
  }
  return undefined;
}

/**
 * Returns an error if the shares of all hosts do not add up to the scenario; undefined while some hosts have not
 * joined.
 */
export function shareMismatch(
  hosts: JoinedHost[],
  { hosts: count, arrivals }: ExpectedHosts,
): CapacityError | undefined {
  if (hosts.length < count) return undefined;
  const sums = arrivals.map((_, phase) => hosts.reduce((sum, { hello }) => sum + (hello.arrivals[phase] ?? 0), 0));
  const wrong = sums.findIndex((sum, phase) => sum !== arrivals[phase]);
  if (wrong < 0) return undefined;
  const each = hosts.map(({ name, hello }) => `${name} ${hello.arrivals[wrong] ?? 0}`).join(', ');
  return new CapacityError(
    'HOSTS_DISAGREE',
    `the hosts’ shares of phase ${wrong + 1} add up to ${sums[wrong]} arrivals, the scenario has ${arrivals[wrong]}: ${each}`,
    'set CAPACITY_HOST on all hosts, or on none',
  );
}

/**
 * Error for a run with too few hosts.
 * @param joined hosts that have joined, whether they are ready or not
 */
export function hostsMissingError(
  joined: readonly JoinedHost[],
  { hosts }: ExpectedHosts,
  timeoutMs: number,
): CapacityError {
  const namesOf = (some: readonly JoinedHost[]) => some.map(({ name }) => name).join(', ');
  const unready = joined.filter(({ isReady }) => !isReady);
  const seconds = Math.round(timeoutMs / 1000);
  const message =
    joined.length < hosts
      ? `${hosts - joined.length} of ${hosts} hosts did not join within ${seconds} s; joined: ${namesOf(joined) || 'none'}`
      : `${namesOf(unready)} did not become ready within ${seconds} s`;
  const fix =
    'start `npx socketio-capacity host` on each host with the variable above, and check that it can reach this host’s port through every firewall';
  return new CapacityError('HOSTS_MISSING', message, fix);
}
