/** Runs the virtual users of one scenario. */
import { setTimeout as delay } from 'node:timers/promises';
import { ownProperty, setOwnProperty } from '../../protocol/base/sum-counts.ts';
import type { Scenario } from '../script/script.ts';
import { type FlowError, toFlowError } from '../virtual-user/flow-error.ts';
import { compileScenario } from '../virtual-user/scenario.ts';
import type { SharedByUsers } from '../virtual-user/shared.ts';
import type { UserTally } from '../virtual-user/tally.ts';
import type { ScenarioEvents, ScenarioFunction } from '../virtual-user/user-types.ts';
import { runSteps } from '../virtual-user/virtual-user.ts';

/** Largest number of counter names that the user's functions can add to a result. */
const MAX_COUNTERS = 100;
const MAX_NAME_LENGTH = 100;
/** Matches names of counters that Artillery's HTTP engine and its plugins use. */
const OF_ARTILLERY = /^(http|plugins)\./;

/**
 * Returns an event emitter for the user's functions. Counters that they emit are passed to Artillery, and also counted
 * for the result.
 */
function countedEvents(events: ScenarioEvents, { functions: { counters } }: UserTally): ScenarioEvents {
  const emit = (event: string, ...args: unknown[]) => {
    const [name, value] = args;
    if (event === 'counter' && typeof name === 'string' && Number.isFinite(value) && !OF_ARTILLERY.test(name)) {
      const key = name.slice(0, MAX_NAME_LENGTH);
      if (ownProperty(counters, key) !== undefined || Object.keys(counters).length < MAX_COUNTERS)
        setOwnProperty(counters, key, (ownProperty(counters, key) ?? 0) + Number(value));
    }
    return events.emit(event, ...args);
  };
  return Object.assign(Object.create(events), { emit });
}

/**
 * Returns a function that runs a virtual user. The function emits `started` at once, and calls back exactly once, after
 * the user's connections have closed.
 * @param scenario validated scenario
 * @param startDelayMs returns the delay of arrivals, in milliseconds
 */
export function createScenarioFunction(
  scenario: Scenario,
  events: ScenarioEvents,
  shared: SharedByUsers,
  startDelayMs: () => number,
): ScenarioFunction {
  const { before, flow, after, newUser } = compileScenario(scenario, shared);
  const steps = [...before, ...flow, ...after];
  const { tally, meter } = shared;
  const counted = countedEvents(events, tally);
  return async (context, callback) => {
    events.emit('started');
    if (startDelayMs() > 0) await delay(startDelayMs());
    tally.started++;
    // Artillery puts the id together from 20 strings, and V8 stores all of them: 480 bytes. The lookup makes V8 store
    // one string of 56 bytes.
    Reflect.has(context, String(context._uid));
    const user = newUser(context, counted);
    const failure: FlowError | null = await runSteps(steps, user).then(() => null, toFlowError);
    // The failure is counted before the connections are closed. Afterwards, the loss of a connection would look like
    // any other failure.
    if (failure) user.session.countFailure(failure);
    else tally.succeeded++;
    await user.session.close().catch(() => {});
    if (++tally.ended === tally.started) meter.flush();
    callback(failure, context);
  };
}
