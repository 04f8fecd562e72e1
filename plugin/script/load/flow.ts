/**
 * What can be known of a flow before a run: how long its virtual user stays, how many connections it opens, and how.
 * Each step declares its own share, so that nothing here depends on the name of a step.
 */
import type { z } from 'zod';
import type { ConnectionOptions } from '../../../protocol/connection.ts';

/** The connections that one virtual user holds. */
export interface ConnectionsPerUser {
  count: number;
  /** Infinite where there is only one. */
  ratePerSec: number;
}

export const ONE_CONNECTION: ConnectionsPerUser = { count: 1, ratePerSec: Number.POSITIVE_INFINITY };

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
   * @returns an upper estimate of the seconds that a virtual user spends in the step; infinite if the script leaves it open
   */
  staySeconds(spec: Spec, childSeconds: number): number;
  /** The step keeps the virtual user until the run releases it. */
  holds?: boolean;
  /** Key of the list of steps inside. */
  childrenKey?: string;
  /** Verbs of other steps that can be in the same list item as this step's. */
  besideKeys?: string[];
  /** Keys whose values name functions of `config.processor`. */
  functionKeys?: string[];
  /** Default: the one connection of the virtual user. */
  connections?(spec: Spec): ConnectionsPerUser;
  /** What the step lets its connections send until they end. */
  repeated?(spec: Spec): Repeated;
  /** Connection options that the step changes, except for values that come from templates. */
  connection?(spec: Spec): Partial<ConnectionOptions>;
}

/** By verb. */
export type StepTable = Record<string, StepDeclaration>;

export interface Flow {
  /** An upper estimate of how long a virtual user keeps its connections; infinite if the script leaves it open. */
  staySeconds: number;
  /** It keeps its connections until the run releases it. */
  holds: boolean;
  /** Of the step that opens the most. */
  connections: ConnectionsPerUser;
  repeated: Repeated[];
  /** Options that the first step that opens a connection changes. */
  connection: Partial<ConnectionOptions>;
}

/** Allowance for all steps that do not wait. */
const STEPS_SECONDS = 10;

const NOTHING: Flow = { staySeconds: 0, holds: false, connections: ONE_CONNECTION, repeated: [], connection: {} };

/** @param steps of a scenario; lists among them, which YAML references bring in, are flattened */
export function flowOf(steps: unknown[], table: StepTable): Flow {
  const flow = readSteps(steps, table);
  return { ...flow, staySeconds: flow.staySeconds + STEPS_SECONDS };
}

/** @returns the step's verb; undefined unless it is the only one, or the others are in its `besideKeys` */
export function verbOf(step: unknown, table: StepTable): string | undefined {
  if (typeof step !== 'object' || step === null) return undefined;
  const verbs = Object.keys(step).filter((key) => key in table);
  if (verbs.length === 1) return verbs[0];
  return verbs.find((verb) => verbs.every((other) => other === verb || table[verb]?.besideKeys?.includes(other)));
}

/** @returns the largest entry; one connection for an empty list */
export function mostConnections(all: ConnectionsPerUser[]): ConnectionsPerUser {
  return all.reduce((most, one) => (one.count > most.count ? one : most), ONE_CONNECTION);
}

function readSteps(steps: unknown[], table: StepTable): Flow {
  const flows = steps.flat().map((step) => readStep(step, table));
  return {
    staySeconds: flows.reduce((sum, { staySeconds }) => sum + staySeconds, 0),
    holds: flows.some(({ holds }) => holds),
    connections: mostConnections(flows.map(({ connections }) => connections)),
    repeated: flows.flatMap(({ repeated }) => repeated),
    connection: flows.find(({ connection }) => Object.keys(connection).length > 0)?.connection ?? {},
  };
}

function readStep(step: unknown, table: StepTable): Flow {
  const kind = table[verbOf(step, table) ?? ''];
  const parsed = kind?.schema.safeParse(step);
  // The validation reports unknown and invalid steps.
  if (!kind || !parsed?.success) return NOTHING;
  const spec = parsed.data;
  const children = kind.childrenKey === undefined ? [] : (step as Record<string, unknown[]>)[kind.childrenKey];
  const inside = readSteps(children ?? [], table);
  return {
    staySeconds: kind.staySeconds(spec, inside.staySeconds),
    holds: kind.holds ?? inside.holds,
    connections: mostConnections([kind.connections?.(spec) ?? ONE_CONNECTION, inside.connections]),
    repeated: [...(kind.repeated ? [kind.repeated(spec)] : []), ...inside.repeated],
    connection: kind.connection?.(spec) ?? inside.connection,
  };
}
