/** Compiles a scenario into what each of its virtual users does. */
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
  /** Functions before the flow and after it. */
  before: Step[];
  after: Step[];
  /** One entry for each step of the flow, with nested lists flattened. */
  flow: Step[];
  /** @returns a virtual user that has done nothing yet; whoever runs its steps closes its session */
  newUser(context: UserContext, events: ScenarioEvents): VirtualUser;
  /** Opens the namespace, unless the virtual user has it. @returns its whole name */
  use(user: VirtualUser, namespace: string): Promise<string>;
}

/** @param scenario validated */
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
  // From the last step on, so that the first that names an event is the last one to wait for it.
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

/** Such a flow means connections that only stay open, like those of Artillery's own engine. */
function onlyWaits({ flow = [] }: Scenario): boolean {
  return flow.length > 0 && flow.flat().every((spec) => STEPS[verbOf(spec, STEPS) ?? '']?.waits);
}

function namesOf(names: string | string[] | undefined): string[] {
  return [names ?? []].flat();
}

/** After the last step that waits for them, events need not leave the fleet process any more. */
function thenForget(step: Step, events: AwaitedEvent[]): Step {
  if (events.length === 0) return step;
  return async (user) => {
    await step(user);
    user.session.forget(events);
  };
}

/** After each step, the connection is in the rooms that a variable has then: one, or a list. */
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

/** `chat` and `/chat` are the same; an empty name is the main namespace, or the one in the target's path. */
function namespacePath(base: string, name: string): string {
  const path = name === '' || name.startsWith('/') ? name : `/${name}`;
  return `${base}${path === '/' && base !== '' ? '' : path}` || '/';
}
