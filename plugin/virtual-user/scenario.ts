/** Compiles a scenario into the function that Artillery calls for each virtual user. */
import { setTimeout as delay } from 'node:timers/promises';
import { verbOf } from '../script/load/flow.ts';
import { hasHttpSteps } from '../script/load/http-steps.ts';
import { scenarioOptionsSchema } from '../script/options/connect-options.ts';
import type { Scenario } from '../script/script.ts';
import { compileConnectionChanges } from './connection-changes.ts';
import { FlowError, toFlowError } from './flow-error.ts';
import type { HttpEngine } from './http-engine.ts';
import { type AwaitedEvent, isSame } from './mailbox.ts';
import { Session } from './session.ts';
import type { Shared } from './shared.ts';
import { compileFunction } from './steps/function.ts';
import { STEPS } from './steps/index.ts';
import type { Build } from './steps/step.ts';
import { compileTemplate } from './template.ts';
import type { ScenarioEvents, ScenarioFunction, UserContext } from './types.ts';
import { runSteps, type Step } from './virtual-user.ts';

interface CompiledFlow {
  steps: Step[];
  /** All that a step waits for. */
  awaited: AwaitedEvent[];
  /** If it has HTTP steps. */
  http: HttpEngine | undefined;
}

/**
 * @param scenario validated
 * @returns the virtual user's function: it emits `started` at once, and calls back exactly once, after its connections
 *   have closed
 */
export function createScenarioFunction(scenario: Scenario, events: ScenarioEvents, shared: Shared): ScenarioFunction {
  const flow = compileFlow(scenario, shared);
  return (context, callback) => {
    events.emit('started');
    void play(flow, context, events, shared).then((failure) => callback(failure, context));
  };
}

function compileFlow(scenario: Scenario, shared: Shared): CompiledFlow {
  const awaited: AwaitedEvent[] = [];
  const build: Build = {
    shared,
    awaited,
    template: (value) => compileTemplate(value, shared.helpers),
    namespace: (name) => namespacePath(shared.config.baseNamespace, name),
    connectionChanges: compileConnectionChanges(
      shared.config.connection,
      scenarioOptionsSchema.parse(scenario.socketio ?? {}),
      shared.helpers,
    ),
    requestHooks: {
      beforeRequest: [scenario.beforeRequest ?? []].flat(),
      afterResponse: [scenario.afterResponse ?? []].flat(),
      onError: [scenario.onError ?? []].flat(),
    },
    steps: (specs) => specs.map((spec) => compileStep(spec, build)),
  };
  const hook = (names: string | string[] | undefined) =>
    [names ?? []].flat().map((name) => compileFunction(name, shared));
  const flow = (scenario.flow ?? []).flat().map((spec) => {
    const first = awaited.length;
    return { step: compileStep(spec, build), awaits: awaited.slice(first) };
  });
  const steps = [
    ...hook(scenario.beforeScenario),
    ...flow.map(({ step, awaits }, index) => {
      const later = flow.slice(index + 1).flatMap((next) => next.awaits);
      return thenForget(
        step,
        distinct(awaits).filter((one) => !later.some((other) => isSame(one, other))),
      );
    }),
    ...hook(scenario.afterScenario),
  ];
  return { steps, awaited: distinct(awaited), http: hasHttpSteps(scenario) ? shared.http : undefined };
}

/** After the last step that waits for them, events need not leave the fleet process any more. */
function thenForget(step: Step, events: AwaitedEvent[]): Step {
  if (events.length === 0) return step;
  return async (user) => {
    await step(user);
    user.session.forget(events);
  };
}

function compileStep(spec: unknown, build: Build): Step {
  const kind = STEPS[verbOf(spec, STEPS) ?? ''];
  if (!kind) throw new FlowError('unknown_step');
  return kind.compile(spec, build);
}

/** Runs one virtual user. @returns why it failed, or null; never rejects */
async function play(
  flow: CompiledFlow,
  context: UserContext,
  events: ScenarioEvents,
  shared: Shared,
): Promise<FlowError | null> {
  const { tally, meter } = shared;
  const session = new Session(shared, flow.awaited);
  let failure: FlowError | null = null;
  if (shared.putOffMs > 0) await delay(shared.putOffMs);
  tally.started++;
  flow.http?.setInitialContext(context);
  try {
    await runSteps(flow.steps, { context, session, events });
  } catch (error) {
    failure = toFlowError(error);
  }
  await session.close().catch(() => {});
  if (failure) session.countFailure(failure);
  else tally.succeeded++;
  if (++tally.ended === tally.started) meter.flush();
  return failure;
}

/** `chat` and `/chat` are the same; an empty name is the main namespace, or the one in the target's path. */
function namespacePath(base: string, name: string): string {
  const path = name === '' || name.startsWith('/') ? name : `/${name}`;
  return `${base}${path === '/' && base !== '' ? '' : path}` || '/';
}

function distinct(awaited: AwaitedEvent[]): AwaitedEvent[] {
  return awaited.filter((one, index) => awaited.findIndex((other) => isSame(one, other)) === index);
}
