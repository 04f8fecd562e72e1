import { withRefusedRequest } from './flow-error.ts';
import type { UserSession } from './session.ts';
import type { ScenarioEvents, UserContext } from './user-types.ts';

/** State of a virtual user, which is passed to each of its steps. */
export interface VirtualUser {
  context: UserContext;
  session: UserSession;
  events: ScenarioEvents;
  /** Description of the last HTTP request that failed with an error status, such as `POST /login answered 401`. */
  refusal?: string;
}

/** A compiled step of a flow. Returns undefined if the step has completed synchronously. An error ends the flow. */
export type CompiledStep = (user: VirtualUser) => Promise<void> | void;

/**
 * Runs the steps in order. If a connection is finally lost during a step, the flow ends after it.
 * @throws errors of a step; after a refused HTTP request, a FlowError that mentions the request
 */
export async function runSteps(steps: CompiledStep[], user: VirtualUser): Promise<void> {
  try {
    for (let index = 0; index < steps.length; index++) {
      const pending = steps[index]?.(user);
      if (pending) await pending;
      if (user.session.lost) throw user.session.lost;
    }
  } catch (error) {
    throw user.refusal === undefined ? error : withRefusedRequest(user.refusal, error);
  }
}
