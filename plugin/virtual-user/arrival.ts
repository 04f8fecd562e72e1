/**
 * Finds the beginning of a flow, up to the step that joins a room or holds the connection (the arrival). The run's own
 * clients run these steps, too, because a server may require a login.
 */
import { type Flow, type StepDeclaration, stepName } from '../script/load/flow.ts';
import { readScenarios } from '../script/scenarios.ts';
import { ENGINE_NAME, type Scenario } from '../script/script.ts';
import { STEP_KINDS } from './steps/index.ts';

export interface UserArrival {
  /** The scenario, with only those first steps of its flow that belong to the arrival. */
  scenario: Scenario;
  /**
   * Namespace of the join; without a join, the last namespace that the flow opens. Named as in the flow, without the
   * namespace of the target.
   */
  home: string;
  /** Whether the steps of the arrival send HTTP requests. */
  http: boolean;
  /** Whether the steps of the arrival only open a connection. */
  isBare: boolean;
}

interface Until {
  /** Event with which the flow joins a room. The arrival ends before the step that emits it. */
  before?: string | undefined;
  /** Event with which the flow joins a room, if it does. The arrival includes the step that emits it. */
  join?: string | undefined;
}

/** Duration in seconds up to which a step belongs to the arrival. A longer step ends the arrival. */
const MAX_STEP_SECONDS = 10;
const CONNECTING = ['connect', 'emit', 'waitFor'];
const STAYING = ['think', 'loop'];

type Fields = Record<string, unknown>;

export function compileArrival(scenario: Scenario, { before, join }: Until): UserArrival {
  const flow: unknown[] = [];
  let home: string | undefined;
  let joined: string | undefined;
  const steps = (scenario.flow ?? []).flat() as Fields[];
  const areLeaving = readFlow(steps)?.holds === false;
  const awaited = before ?? join;
  for (const [index, step] of steps.entries()) {
    const leaves = before === undefined ? undefined : emitIn(step, before);
    if (leaves) {
      if (leaves === step && step.connect !== undefined) flow.push(connectOf(step));
      return arrival(scenario, flow, namespaceOf(leaves) ?? home);
    }
    if (stays(step, before === undefined)) {
      if (home === undefined && stepName(step, STEP_KINDS) === 'think') continue;
      home ??= namespaceOf(step);
      break;
    }
    // If virtual users leave by themselves, the steps between joining and leaving are not part of the arrival.
    const isThere = areLeaving && home !== undefined && STAYING.includes(stepName(step, STEP_KINDS) ?? '');
    if (isThere && (awaited === undefined || !steps.slice(index).some((later) => emitIn(later, awaited)))) break;
    flow.push(step);
    const joins = join === undefined ? undefined : emitIn(step, join);
    if (joins) joined ??= namespaceOf(joins) ?? '';
    const verb = stepName(step, STEP_KINDS) ?? '';
    if (CONNECTING.includes(verb)) home = namespaceOf(step) ?? '';
    if (verb === 'every') home ??= namespaceOf(step) ?? '';
  }
  return arrival(scenario, flow, joined ?? home);
}

/** Returns whether a flow emits the event and requests its acknowledgement. Undefined if no flow emits the event. */
export function requestsAcknowledgement(scenarios: Scenario[], event: string): boolean | undefined {
  const emits = scenarios.flatMap(({ flow = [] }) => flow.flat().map((step) => emitIn(step as Fields, event)));
  const found = emits.filter((step) => step !== undefined);
  return found.length === 0 ? undefined : found.some(({ acknowledge }) => Boolean(acknowledge));
}

function arrival(scenario: Scenario, flow: unknown[], home = ''): UserArrival {
  const { beforeScenario, socketio } = scenario;
  const brings = [beforeScenario, socketio].some((one) => one !== undefined) || !flow.every(isPlainConnect);
  const isBare = home === '' && !brings;
  return { scenario: { ...scenario, flow }, home, http: readFlow(flow)?.http ?? false, isBare };
}

function isPlainConnect(step: unknown): boolean {
  return ['{"connect":true}', '{"connect":{}}'].includes(JSON.stringify(step));
}

/** Returns the step that emits the event: the given step or a step inside it. */
function emitIn(step: Fields, event: string): Fields | undefined {
  const { emit } = step;
  const name = Array.isArray(emit) ? emit[0] : (emit as { channel?: unknown } | undefined)?.channel;
  if (name === event) return step;
  const kind = STEP_KINDS[stepName(step, STEP_KINDS) ?? ''] as StepDeclaration | undefined;
  const inside = kind?.childrenKey === undefined ? [] : step[kind.childrenKey];
  for (const child of Array.isArray(inside) ? inside : []) {
    const found = emitIn(child, event);
    if (found) return found;
  }
  return undefined;
}

function connectOf({ connect, namespace, timeout }: Fields): Fields {
  return { connect, ...(namespace !== undefined && { namespace }), ...(timeout !== undefined && { timeout }) };
}

function namespaceOf({ namespace, connect, waitFor }: Fields): string | undefined {
  const inside = [connect, waitFor].map((one) => (typeof one === 'object' ? (one as Fields | null)?.namespace : one));
  return [namespace, ...inside].find((one) => typeof one === 'string') as string | undefined;
}

/**
 * Returns whether the step ends the arrival, because it holds or disconnects the virtual user, or takes long.
 * @param repeats whether steps that send repeatedly belong to the arrival, because a server may close a silent
 * connection
 */
function stays(step: Fields, repeats: boolean): boolean {
  const verb = stepName(step, STEP_KINDS);
  if (verb === 'disconnect') return true;
  const flow = readFlow([step]);
  const seconds = (flow?.staySeconds ?? 0) - (readFlow([])?.staySeconds ?? 0);
  return (
    Boolean(flow?.holds || (!repeats && flow?.repeated.length)) || (verb !== 'waitFor' && seconds > MAX_STEP_SECONDS)
  );
}

function readFlow(flow: unknown[]): Flow | undefined {
  return readScenarios({ config: { processor: '' }, scenarios: [{ engine: ENGINE_NAME, flow }] }, STEP_KINDS).flows[0];
}
