/** The virtual users of one scenario, as Artillery starts and counts them. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Scenario } from '../script/script.ts';
import { type FlowError, toFlowError } from '../virtual-user/flow-error.ts';
import { compileScenario } from '../virtual-user/scenario.ts';
import type { Shared } from '../virtual-user/shared.ts';
import type { ScenarioEvents, ScenarioFunction } from '../virtual-user/user-types.ts';
import { runSteps } from '../virtual-user/virtual-user.ts';

/**
 * @param scenario validated
 * @param putOffMs by how much arrivals are put off, now
 * @returns the virtual user's function: it emits `started` at once, and calls back exactly once, after its connections
 *   have closed
 */
export function createScenarioFunction(
  scenario: Scenario,
  events: ScenarioEvents,
  shared: Shared,
  putOffMs: () => number,
): ScenarioFunction {
  const { before, flow, after, newUser } = compileScenario(scenario, shared);
  const steps = [...before, ...flow, ...after];
  const { tally, meter } = shared;
  return async (context, callback) => {
    events.emit('started');
    if (putOffMs() > 0) await delay(putOffMs());
    tally.started++;
    const user = newUser(context, events);
    const failure: FlowError | null = await runSteps(steps, user).then(() => null, toFlowError);
    // Before its connections are closed: one that is lost is not also a failure.
    if (failure) user.session.countFailure(failure);
    else tally.succeeded++;
    await user.session.close().catch(() => {});
    if (++tally.ended === tally.started) meter.flush();
    callback(failure, context);
  };
}
