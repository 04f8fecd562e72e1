import type { Session } from './session.ts';
import type { ScenarioEvents, UserContext } from './types.ts';

/** One virtual user, as its steps see it. */
export interface VirtualUser {
  context: UserContext;
  session: Session;
  events: ScenarioEvents;
}

/** One compiled step. Returns nothing when it is done at once, and throws or rejects to end the flow. */
export type Step = (user: VirtualUser) => Promise<void> | void;

/** Runs the steps in turn; a connection that dropped during a step ends the flow after it. */
export async function runSteps(steps: Step[], user: VirtualUser): Promise<void> {
  for (let index = 0; index < steps.length; index++) {
    const pending = steps[index]?.(user);
    if (pending) await pending;
    if (user.session.dropped) throw user.session.dropped;
  }
}
