/** Compiles a scenario into the function that Artillery calls for each virtual user. */
import { verbOf } from '../script/flow.ts';
import type { Scenario } from '../script/script.ts';
import type { EngineContext } from './engine-context.ts';
import { FlowError, toFlowError } from './flow-error.ts';
import type { AwaitedEvent } from './mailbox.ts';
import { Session } from './session.ts';
import { compileFunction } from './steps/function.ts';
import { STEPS } from './steps/index.ts';
import type { Build } from './steps/step.ts';
import { compileTemplate } from './template.ts';
import type { ScenarioEvents, ScenarioFunction, UserContext } from './types.ts';
import { runSteps, type Step } from './virtual-user.ts';

interface CompiledFlow {
  steps: Step[];
  awaited: AwaitedEvent[];
}

/**
 * @param scenario validated
 * @returns the virtual user's function: it emits `started` at once, and calls back exactly once, after its connections
 *   have closed
 */
export function createScenarioFunction(
  scenario: Scenario,
  events: ScenarioEvents,
  engine: EngineContext,
): ScenarioFunction {
  const flow = compileFlow(scenario, engine);
  return (context, callback) => {
    events.emit('started');
    void play(flow, context, events, engine).then((failure) => callback(failure, context));
  };
}

function compileFlow(scenario: Scenario, engine: EngineContext): CompiledFlow {
  const awaited: AwaitedEvent[] = [];
  const build: Build = {
    engine,
    awaited,
    template: (value) => compileTemplate(value, engine.helpers),
    namespace: (name) => namespacePath(engine.config.baseNamespace, name),
    steps: (specs) => specs.map((spec) => compileStep(spec, build)),
  };
  const hook = (names: string | string[] | undefined) =>
    [names ?? []].flat().map((name) => compileFunction(name, engine));
  const steps = [
    ...hook(scenario.beforeScenario),
    ...build.steps((scenario.flow ?? []).flat()),
    ...hook(scenario.afterScenario),
  ];
  return { steps, awaited: distinct(awaited) };
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
  engine: EngineContext,
): Promise<FlowError | null> {
  const { tally, meter } = engine;
  const session = new Session(engine, flow.awaited);
  let failure: FlowError | null = null;
  tally.started++;
  try {
    await runSteps(flow.steps, { context, session, events });
  } catch (error) {
    failure = toFlowError(error);
  }
  await session.close().catch(() => {});
  if (failure) session.countFailure(failure);
  if (++tally.ended === tally.started) meter.flush();
  return failure;
}

/** `chat` and `/chat` are the same; an empty name is the main namespace, or the one in the target's path. */
function namespacePath(base: string, name: string): string {
  const path = name === '' || name.startsWith('/') ? name : `/${name}`;
  return `${base}${path === '/' && base !== '' ? '' : path}` || '/';
}

function distinct(awaited: AwaitedEvent[]): AwaitedEvent[] {
  const byKey = new Map(awaited.map((one) => [`${one.namespace} ${one.event}`, one]));
  return [...byKey.values()];
}
