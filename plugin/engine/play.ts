/** Runs the virtual users of one scenario. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Scenario } from '../script/script.ts';
import { type FlowError, toFlowError } from '../virtual-user/flow-error.ts';
import { compileScenario } from '../virtual-user/scenario.ts';
import type { Shared } from '../virtual-user/shared.ts';
import type { ScenarioEvents, ScenarioFunction } from '../virtual-user/user-types.ts';
import { runSteps } from '../virtual-user/virtual-user.ts';

/**
 * Returns the function of a virtual user. It emits `started` at once, and calls back exactly once, after its connections have closed.
 * @param scenario validated scenario
 * @param startDelayMs returns the current delay of arrivals
 */
export function createScenarioFunction(
  scenario: Scenario,
  events: ScenarioEvents,
  shared: Shared,
  startDelayMs: () => number,
): ScenarioFunction {
  const { before, flow, after, newUser } = compileScenario(scenario, shared);
  const steps = [...before, ...flow, ...after];
  const { tally, meter } = shared;
  return async (context, callback) => {
    events.emit('started');
    if (startDelayMs() > 0) await delay(startDelayMs());
    tally.started++;
    const user = newUser(context, events);
    const failure: FlowError | null = await runSteps(steps, user).then(() => null, toFlowError);
    // Counted before the connections close: the session then still knows whether one was lost, which is not a failure.
    if (failure) user.session.countFailure(failure);
    else tally.succeeded++;
    await user.session.close().catch(() => {});
    if (++tally.ended === tally.started) meter.flush();
    callback(failure, context);
  };
}
