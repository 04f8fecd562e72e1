/**
 * What a step declares of itself, and what follows from that for a whole flow: how long its virtual user stays, and how
 * it connects. Nothing here depends on the name of a step.
 */
import type { z } from 'zod';
import type { ConnectOptions } from '../options/connect-options.ts';

/** What each connection of a flow sends again and again. */
export interface Repeated {
  /** If the step names one. */
  namespace?: string;
  event: string;
  seconds: number;
  /** Messages each time. */
  count: number;
  /** In each message. */
  events: number;
  acknowledge: boolean;
}

/** What a step declares of itself, for the validation of a script and for the plan of its load. */
export interface StepDeclaration<Spec = unknown> {
  schema: z.ZodType;
  /**
   * @param childSeconds of the steps inside, for one iteration
   * @returns an upper estimate of the seconds that a virtual user spends in the step, 0 if left out; infinite if the script
   *   leaves it open
   */
  staySeconds?(spec: Spec, childSeconds: number): number;
  /** The step keeps the virtual user until the run releases it. */
  holds?: boolean;
  /** The step lets time pass, with whatever is connected. */
  waits?: boolean;
  /** Key of the list of steps inside. */
  childrenKey?: string;
  /** Verbs of other steps that can be in the same list item as this step's. */
  besideKeys?: string[];
  /** Keys whose values name functions of `config.processor`. */
  functionKeys?: string[];
  /** What the step lets its connections send until they end. */
  repeated?(spec: Spec): Repeated;
  /** Connection options that the step has, except for values that come from templates. */
  connect?(spec: Spec): ConnectOptions;
  /** The step sends HTTP requests. */
  http?: boolean;
}

/** By verb. */
export type StepTable = Record<string, StepDeclaration>;

export interface Flow {
  /** An upper estimate of how long a virtual user keeps its connections; infinite if the script leaves it open. */
  staySeconds: number;
  /** It keeps its connections until the run releases it. */
  holds: boolean;
  repeated: Repeated[];
  /** Connection options of the scenario, and of the first step that has any; later ones win. */
  connect: ConnectOptions[];
  /** It sends HTTP requests. */
  http: boolean;
}

/** @returns the step's verb; undefined unless it is the only one, or the others are in its `besideKeys` */
export function verbOf(step: unknown, table: StepTable): string | undefined {
  if (typeof step !== 'object' || step === null) return undefined;
  const verbs = Object.keys(step).filter((key) => Object.hasOwn(table, key));
  if (verbs.length === 1) return verbs[0];
  return verbs.find((verb) => verbs.every((other) => other === verb || table[verb]?.besideKeys?.includes(other)));
}

/** @returns what steps add up to, one after the other */
export function addFlows(flows: Flow[]): Flow {
  return {
    staySeconds: flows.reduce((sum, { staySeconds }) => sum + staySeconds, 0),
    holds: flows.some(({ holds }) => holds),
    repeated: flows.flatMap(({ repeated }) => repeated),
    connect: flows.find(({ connect }) => connect.length > 0)?.connect ?? [],
    http: flows.some(({ http }) => http),
  };
}

/** @param inside what the steps inside the step add up to */
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
