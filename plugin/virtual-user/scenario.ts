/** Compiles a scenario to the steps of its virtual users. */
import { valueAt } from '../../protocol/base/json-path.ts';
import { roomNames } from '../fleet/client/counted-event.ts';
import { verbOf } from '../script/load/flow.ts';
import { scenarioOptionsSchema } from '../script/options/connect-options.ts';
import type { Scenario } from '../script/script.ts';
import { compileConnectionChanges, openOptions } from './connection-changes.ts';
import { FlowError } from './flow-error.ts';
import { type AwaitedEvent, isSame } from './mailbox.ts';
import { Session } from './session.ts';
import type { Shared } from './shared.ts';
import { compileFunction } from './steps/function.ts';
import { STEPS } from './steps/index.ts';
import type { Build } from './steps/step.ts';
import { compileTemplate } from './template.ts';
import type { ScenarioEvents, UserContext } from './user-types.ts';
import type { Step, VirtualUser } from './virtual-user.ts';

interface CompiledScenario {
  /** Functions to call before the flow, or after it. */
  before: Step[];
  after: Step[];
  /** Steps of the flow, with nested lists flattened. */
  flow: Step[];
  /** Returns a virtual user that has not run any step. The caller that runs the steps must close its session. */
  newUser(context: UserContext, events: ScenarioEvents): VirtualUser;
  /** Opens the namespace, unless the virtual user already has it. @returns its full name */
  use(user: VirtualUser, namespace: string): Promise<string>;
}

/** @param scenario validated scenario */
export function compileScenario(scenario: Scenario, shared: Shared): CompiledScenario {
  const uses: Build['uses'] = { awaited: [], watched: [], http: false };
  const build: Build = {
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
  const flow: Step[] = [];
  // Iterates from the last step to the first, so the first match for an event is the last step that waits for it.
  for (const { step, awaits } of compiled.reverse()) {
    const before = kept.length;
    for (const event of awaits) if (!kept.some((other) => isSame(event, other))) kept.push(event);
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
      const session = new Session(shared, { awaited: kept, watched: uses.watched }, context, events);
      return { context, session, events };
    },
    async use(user, namespace) {
      const path = build.namespace(String(build.template(namespace)(user.context)));
      await build.use(user, path);
      return path;
    },
  };
}

/** Returns whether the flow consists of waiting steps only. Its connections must still open, as with Artillery's own engine. */
function onlyWaits({ flow = [] }: Scenario): boolean {
  return flow.length > 0 && flow.flat().every((spec) => STEPS[verbOf(spec, STEPS) ?? '']?.waits);
}

function namesOf(names: string | string[] | undefined): string[] {
  return [names ?? []].flat();
}

/** Returns the step with a call that releases these events afterwards: no later step waits for them, so they stay in the fleet process. */
function thenForget(step: Step, events: AwaitedEvent[]): Step {
  if (events.length === 0) return step;
  return async (user) => {
    await step(user);
    user.session.forget(events);
  };
}

/** Returns the step with a call that adds the connection to the room, or list of rooms, in the variable afterwards. */
function thenEnter(step: Step, variable: string): Step {
  const path = variable.split('.');
  return async (user) => {
    await step(user);
    const rooms = roomNames([valueAt(user.context.vars, path)].flat());
    if (rooms.length > 0) user.session.enter(rooms);
  };
}

function compileStep(spec: unknown, build: Build): Step {
  const kind = STEPS[verbOf(spec, STEPS) ?? ''];
  if (!kind) throw new FlowError('unknown_step');
  return kind.compile(spec, build);
}

/**
 * Returns the namespace's full path. `chat` and `/chat` are the same; an empty name means the main namespace, or the one
 * in the target's path.
 */
function namespacePath(base: string, name: string): string {
  const path = name === '' || name.startsWith('/') ? name : `/${name}`;
  return `${base}${path === '/' && base !== '' ? '' : path}` || '/';
}
