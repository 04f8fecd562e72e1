/**
 * Properties of a flow that follow from the declarations of its steps: how long virtual users stay, and how they
 * connect.
 */
import type { z } from 'zod';
import type { ConnectOptions } from '../options/connect-options.ts';

/** A message that each connection of a flow sends repeatedly. */
export interface RepeatedFlowMessage {
  /** Namespace; undefined if the step names none. */
  namespace?: string;
  event: string;
  seconds: number;
  /** Number of messages that the connection sends per period. */
  count: number;
  /** Number of events in each message. */
  events: number;
  acknowledge: boolean;
}

/** Declaration of a step. Used to validate a script and to estimate its load. */
export interface StepDeclaration<Spec = unknown> {
  schema: z.ZodType;
  /**
   * Returns an upper estimate of the seconds that a virtual user spends in the step; infinite if the script sets no
   * limit. Undefined for a step that takes no time.
   * @param childSeconds estimate for one iteration of the steps inside
   */
  staySeconds?(spec: Spec, childSeconds: number): number;
  /** Whether virtual users stay in the step until the run releases them. */
  holds?: boolean;
  /** Whether the step only waits. In a flow with only such steps, virtual users first open a connection. */
  waits?: boolean;
  /** Key of the step that contains a list of further steps. */
  childrenKey?: string;
  /** Names of other steps that may stand beside this step in the same list item. */
  besideKeys?: string[];
  /** Keys whose values are names of functions in `config.processor`. Dots separate nested keys. */
  functionKeys?: string[];
  /** Returns the message that connections send repeatedly from this step on, until they close. */
  repeated?(spec: Spec): RepeatedFlowMessage;
  /** Returns the connection options of the step. Options with templates are left out. */
  connect?(spec: Spec): ConnectOptions;
  /** Whether the step sends HTTP requests. */
  http?: boolean;
}

export type StepTable = Record<string, StepDeclaration>;

export interface Flow {
  /**
   * Upper estimate of the seconds for which a virtual user keeps its connections; infinite if the script does not limit
   * them.
   */
  staySeconds: number;
  /** Whether virtual users keep their connections until the run releases them. */
  holds: boolean;
  repeated: RepeatedFlowMessage[];
  /**
   * Connection options of the scenario, followed by the connection options of the first step that has any. Later
   * options take precedence.
   */
  connect: ConnectOptions[];
  /** Whether the flow sends HTTP requests. */
  http: boolean;
}

/**
 * Returns the name of the step. Undefined if the object contains several steps, except for steps that allow each other
 * by `besideKeys`.
 */
export function stepName(step: unknown, table: StepTable): string | undefined {
  if (typeof step !== 'object' || step === null) return undefined;
  const verbs = Object.keys(step).filter((key) => Object.hasOwn(table, key));
  if (verbs.length === 1) return verbs[0];
  return verbs.find((verb) => verbs.every((other) => other === verb || table[verb]?.besideKeys?.includes(other)));
}

/** Combines the properties of consecutive steps of a flow. */
export function combineFlows(flows: Flow[]): Flow {
  return {
    staySeconds: flows.reduce((sum, { staySeconds }) => sum + staySeconds, 0),
    holds: flows.some(({ holds }) => holds),
    repeated: flows.flatMap(({ repeated }) => repeated),
    connect: flows.find(({ connect }) => connect.length > 0)?.connect ?? [],
    http: flows.some(({ http }) => http),
  };
}

/**
 * Returns the properties of one step.
 * @param inside combined properties of the steps inside it
 */
export function flowOfStep(step: StepDeclaration, spec: unknown, inside: Flow): Flow {
  const options = step.connect?.(spec) ?? {};
  return {
    staySeconds: step.staySeconds?.(spec, inside.staySeconds) ?? 0,
    holds: step.holds ?? inside.holds,
    repeated: [...(step.repeated ? [step.repeated(spec)] : []), ...inside.repeated],
    connect: Object.keys(options).length > 0 ? [options] : inside.connect,
    http: step.http ?? inside.http,
  };
}
