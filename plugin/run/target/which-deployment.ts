/**
 * Decides which deployment a run measures, from the settings and from the state file of a stack. Does not check whether
 * ports are free.
 */

import { CapacityError } from '../../../protocol/codes/errors.ts';
import { isTlsUrl } from '../../../protocol/wire/http-agent.ts';
import { assertPortFree } from '../../../server/stack/ports.ts';
import { chooseProfile, requiredProfile, type StackProfile } from '../../../server/stack/profile.ts';
import type { findStack, Stack, StackState } from '../../../server/stack/stack.ts';
import { STACK_CODE_FOLDER } from '../../../server/stack/start.ts';
import type { Settings } from '../../script/settings.ts';

type WhichDeployment =
  /** The user's own server. */
  | { kind: 'own' }
  /** A running stack that this checkout started, at the target's port. */
  | { kind: 'up'; stack: Stack }
  | PlannedDeployment;

/** The included deployment, started by the run. */
export interface PlannedDeployment {
  kind: 'planned';
  port: number;
  profile: StackProfile;
  /** Programs that are not installed, so that the profile is `embedded`. */
  missing: readonly string[];
}

type FoundStack = Awaited<ReturnType<typeof findStack>>;

/**
 * Decides which deployment to measure.
 * @param found the stack in the state folder
 * @throws CapacityError if the scenario measures the included deployment: PORT_UNAVAILABLE if another program uses its
 * port, STACK_RUNNING if a stack is running at another port
 */
export async function whichDeployment(settings: Settings, found: FoundStack): Promise<WhichDeployment> {
  const { stack, control, delivery, workerSources, layers } = settings;
  if (control || delivery || workerSources || layers) return { kind: 'own' };
  const state = found.status === 'up' && isOfThisCheckout(found.stack.state) ? found.stack.state : undefined;
  if (found.status === 'up' && state && isAtTarget(state, settings)) return { kind: 'up', stack: found.stack };
  if (!stack) return { kind: 'own' };
  if (found.status === 'up') requireNoOther(found.stack.state, stack.port);
  // A stack that is stopping, or that a killed run left behind, may still listen on the port.
  if (found.status === 'up' || found.status === 'down') await assertPortFree(stack.port, alternatives(stack.port));
  return { kind: 'planned', port: stack.port, ...chooseProfile(settings.profile ?? neededProfile(settings)) };
}

/** Returns the profile that the settings require. Some planned faults need nginx or Redis. */
function neededProfile(settings: Settings): StackProfile | undefined {
  const { fault } = settings;
  if (fault?.kind === 'reload-nginx' || fault?.kind === 'restart-redis') return 'full';
  return requiredProfile({ ...settings, adapter: process.env.CAPACITY_ADAPTER || undefined });
}

/**
 * Returns whether the stack belongs to this checkout. A state file of an older version does not name its checkout, and
 * is accepted.
 */
function isOfThisCheckout({ checkout = STACK_CODE_FOLDER }: StackState): boolean {
  return checkout === STACK_CODE_FOLDER;
}

/**
 * Throws if another stack is running, because the state folder can describe only one stack.
 * @throws CapacityError STACK_RUNNING or PORT_UNAVAILABLE
 */
function requireNoOther({ target, checkout }: StackState, port: number): void {
  const down = 'take it down: npx socketio-capacity stack down';
  const itsPort = Number(new URL(target).port);
  if (itsPort !== port) {
    throw new CapacityError('STACK_RUNNING', `a stack is up at ${target}`, `use it: STACK_PORT=${itsPort}; or ${down}`);
  }
  throw new CapacityError(
    'PORT_UNAVAILABLE',
    `port ${port} of 127.0.0.1 is taken by the stack of another checkout, ${checkout}`,
    `${down}; ${alternatives(port)}`,
  );
}

/**
 * Returns whether a stack runs at the target's address. With the option `stack`, only the ports are compared: a stack
 * with TLS is found even if the URL begins with `http:`, and the run reports that mistake.
 */
function isAtTarget({ target }: StackState, { stack, target: wanted }: Settings): boolean {
  const [its, url] = [new URL(target), new URL(wanted)];
  if (stack) return Number(its.port) === stack.port;
  const isSameHost = url.hostname === its.hostname || url.hostname === 'localhost';
  return isSameHost && url.port === its.port && isTlsUrl(url) === isTlsUrl(its);
}

function alternatives(port: number): string {
  return `or measure it as a server of your own: TARGET=http://127.0.0.1:${port}; or let the bundled deployment listen elsewhere: STACK_PORT=${port + 1}`;
}
