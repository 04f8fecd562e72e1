/**
 * Declarations of steps, and what follows from them for a whole flow: how long its virtual users stay, and how they connect. Does not
 * depend on the names of steps.
 */
import type { z } from 'zod';
import type { ConnectOptions } from '../options/connect-options.ts';

/** Message that each connection of a flow sends periodically. */
export interface Repeated {
  /** Namespace; missing if the step names none. */
  namespace?: string;
  event: string;
  seconds: number;
  /** Messages per period. */
  count: number;
  /** Events per message. */
  events: number;
  acknowledge: boolean;
}

/** Declaration of a step, for validating a script and planning its load. */
export interface StepDeclaration<Spec = unknown> {
  schema: z.ZodType;
  /**
   * Returns an upper estimate of the seconds that a virtual user spends in the step; infinite if the script does not bound it. A step
   * without this function takes 0 s.
   * @param childSeconds estimate for one iteration of the steps inside
   */
  staySeconds?(spec: Spec, childSeconds: number): number;
  /** Whether the step keeps the virtual user until the run releases it. */
  holds?: boolean;
  /** Whether the step only waits. If all steps of a flow do, its virtual users open a connection first. */
  waits?: boolean;
  /** Key of the list of steps inside. */
  childrenKey?: string;
  /** Verbs of other steps that can be in the same list item. */
  besideKeys?: string[];
  /** Keys, with dots, whose values name functions of `config.processor`. */
  functionKeys?: string[];
  /** Returns the message that the step makes its connections send until they close. */
  repeated?(spec: Spec): Repeated;
  /** Returns the step's connection options, without templates. */
  connect?(spec: Spec): ConnectOptions;
  /** Whether the step sends HTTP requests. */
  http?: boolean;
}

export type StepTable = Record<string, StepDeclaration>;

export interface Flow {
  /** Upper estimate of the time for which a virtual user keeps its connections; infinite if the script does not bound it. */
  staySeconds: number;
  /** Whether virtual users keep their connections until the run releases them. */
  holds: boolean;
  repeated: Repeated[];
  /** Connection options of the scenario, then of the first step that has any; later ones take precedence. */
  connect: ConnectOptions[];
  /** Whether the flow sends HTTP requests. */
  http: boolean;
}

/** Returns the step's verb; undefined if it has several, except for those in its `besideKeys`. */
export function verbOf(step: unknown, table: StepTable): string | undefined {
  if (typeof step !== 'object' || step === null) return undefined;
  const verbs = Object.keys(step).filter((key) => Object.hasOwn(table, key));
  if (verbs.length === 1) return verbs[0];
  return verbs.find((verb) => verbs.every((other) => other === verb || table[verb]?.besideKeys?.includes(other)));
}

/** Combines the flows of consecutive steps. */
export function addFlows(flows: Flow[]): Flow {
  return {
    staySeconds: flows.reduce((sum, { staySeconds }) => sum + staySeconds, 0),
    holds: flows.some(({ holds }) => holds),
    repeated: flows.flatMap(({ repeated }) => repeated),
    connect: flows.find(({ connect }) => connect.length > 0)?.connect ?? [],
    http: flows.some(({ http }) => http),
  };
}

/** @param inside combined flow of the steps inside the step */
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
