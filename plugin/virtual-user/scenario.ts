/** Compiles a scenario to the steps that its virtual users run. */
import { valueAtPath } from '../../protocol/base/json-path.ts';
import { roomNames } from '../fleet/client/counted-event.ts';
import { stepName } from '../script/load/flow.ts';
import { scenarioOptionsSchema } from '../script/options/connect-options.ts';
import type { Scenario } from '../script/script.ts';
import { compileConnectionChanges, openOptions } from './connection-changes.ts';
import { FlowError } from './flow-error.ts';
import { type AwaitedEvent, isSameEvent } from './mailbox.ts';
import { UserSession } from './session.ts';
import type { SharedByUsers } from './shared.ts';
import { compileFunction } from './steps/function.ts';
import { STEP_KINDS } from './steps/index.ts';
import type { StepBuildContext } from './steps/step.ts';
import { compileTemplate } from './template.ts';
import type { ScenarioEvents, UserContext } from './user-types.ts';
import type { CompiledStep, VirtualUser } from './virtual-user.ts';

interface CompiledScenario {
  /** Steps that call processor functions before and after the flow. */
  before: CompiledStep[];
  after: CompiledStep[];
  /** Steps of the flow. Nested lists are flattened. */
  flow: CompiledStep[];
  /** Returns a new virtual user. The caller runs the user's steps and must close the user's session. */
  newUser(context: UserContext, events: ScenarioEvents): VirtualUser;
  /**
   * Opens the namespace on the virtual user's connection, unless it is open.
   * @returns the namespace's full name
   */
  use(user: VirtualUser, namespace: string): Promise<string>;
}

export function compileScenario(scenario: Scenario, shared: SharedByUsers): CompiledScenario {
  const uses: StepBuildContext['uses'] = { awaited: [], watched: [], http: false };
  const build: StepBuildContext = {
    shared,
    uses,
    template: (value) => compileTemplate(value, shared.helpers),
    namespace: (name) => namespacePath(shared.config.baseNamespace, name),
    connectionChanges: compileConnectionChanges(
      shared.config.connection,
      scenarioOptionsSchema.parse(scenario.socketio ?? {}),
      shared.helpers,
    ),
    use: async ({ context, session }, namespace) =>
      session.ready(namespace) ?? session.use(namespace, openOptions(build.connectionChanges(context))),
    requestHooks: {
      beforeRequest: namesOf(scenario.beforeRequest),
      afterResponse: namesOf(scenario.afterResponse),
      onError: namesOf(scenario.onError),
    },
    steps: (specs) => specs.map((spec) => compileStep(spec, build)),
  };
  const compiled = (scenario.flow ?? []).flat().map((spec) => {
    uses.awaited = [];
    return { step: compileStep(spec, build), awaits: uses.awaited };
  });
  const functions = (names: string | string[] | undefined) =>
    namesOf(names).map((name) => compileFunction(name, shared));
  const kept: AwaitedEvent[] = [];
  const flow: CompiledStep[] = [];
  // Steps are read from last to first. The first step found for an event is then the last step that waits for it.
  for (const { step, awaits } of compiled.reverse()) {
    const before = kept.length;
    for (const event of awaits) if (!kept.some((other) => isSameEvent(event, other))) kept.push(event);
    flow.unshift(thenForget(step, kept.slice(before)));
  }
  const { roomsVariable } = shared.config;
  if (roomsVariable !== undefined) flow.splice(0, flow.length, ...flow.map((step) => thenEnter(step, roomsVariable)));
  if (onlyWaits(scenario)) flow.unshift(async (user) => void (await build.use(user, build.namespace(''))));
  return {
    before: functions(scenario.beforeScenario),
    flow,
    after: functions(scenario.afterScenario),
    newUser(context, events) {
      if (uses.http) shared.http?.setInitialContext(context);
      const session = new UserSession(shared, { awaited: kept, watched: uses.watched }, context, events);
      return { context, session, events };
    },
    async use(user, namespace) {
      const path = build.namespace(String(build.template(namespace)(user.context)));
      await build.use(user, path);
      return path;
    },
  };
}

/**
 * Returns whether all steps of the flow only wait. For such a flow, the connection is opened before its first step, as
 * in Artillery's own engine.
 */
function onlyWaits({ flow = [] }: Scenario): boolean {
  return flow.length > 0 && flow.flat().every((spec) => STEP_KINDS[stepName(spec, STEP_KINDS) ?? '']?.waits);
}

function namesOf(names: string | string[] | undefined): string[] {
  return [names ?? []].flat();
}

/**
 * Returns a step that runs the given step and then stops keeping these events. No later step waits for them, so the
 * fleet process can discard them.
 */
function thenForget(step: CompiledStep, events: AwaitedEvent[]): CompiledStep {
  if (events.length === 0) return step;
  return async (user) => {
    await step(user);
    user.session.forget(events);
  };
}

/** Returns a step that runs the given step and then adds the connection to the rooms in a variable. */
function thenEnter(step: CompiledStep, variable: string): CompiledStep {
  const path = variable.split('.');
  return async (user) => {
    await step(user);
    const rooms = roomNames([valueAtPath(user.context.vars, path)].flat());
    if (rooms.length > 0) user.session.enter(rooms);
  };
}

function compileStep(spec: unknown, build: StepBuildContext): CompiledStep {
  const kind = STEP_KINDS[stepName(spec, STEP_KINDS) ?? ''];
  if (!kind) throw new FlowError('unknown_step');
  return kind.compile(spec, build);
}

/**
 * Returns the full name of a namespace. `chat` and `/chat` are the same namespace. An empty name is the main namespace,
 * or the namespace in the target's path.
 */
function namespacePath(base: string, name: string): string {
  const path = name === '' || name.startsWith('/') ? name : `/${name}`;
  return `${base}${path === '/' && base !== '' ? '' : path}` || '/';
}
