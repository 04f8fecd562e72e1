/**
 * What a flow means before anybody runs it: how long its virtual user stays, how many connections it makes, and how.
 * Each step declares its own part, so that nothing here knows a step by name.
 */
import type { z } from 'zod';
import type { ConnectionOptions } from '../../protocol/connection.ts';

/** The connections that one virtual user holds. */
export interface ConnectionsPerUser {
  count: number;
  /** Infinite where there is only one. */
  ratePerSec: number;
}

export const ONE_CONNECTION: ConnectionsPerUser = { count: 1, ratePerSec: Number.POSITIVE_INFINITY };

/** What a step says of itself to whoever checks a script or plans for it. */
export interface StepDeclaration<Spec = unknown> {
  schema: z.ZodType;
  /**
   * Seconds for which the step may keep its virtual user, an upper estimate; infinite where the script does not say.
   * @param childSeconds of the steps inside, once through
   */
  staySeconds(spec: Spec, childSeconds: number): number;
  /** Key of the list of steps inside. */
  childrenKey?: string;
  /** Other steps' verbs that may stand beside this one's in the same item. */
  besideKeys?: string[];
  /** Keys whose values name functions of `config.processor`. */
  functionKeys?: string[];
  /** Default: what the step needs is the one connection of the virtual user. */
  connections?(spec: Spec): ConnectionsPerUser;
  /** What the step changes about how a connection is made, as far as the script says. */
  connection?(spec: Spec): Partial<ConnectionOptions>;
}

/** By verb. */
export type StepTable = Record<string, StepDeclaration>;

export interface Flow {
  /** That a virtual user may keep its connections, an upper estimate; infinite where the script does not say. */
  staySeconds: number;
  /** Of the step that makes most. */
  connections: ConnectionsPerUser;
  /** What the first step that makes a connection changes about it. */
  connection: Partial<ConnectionOptions>;
}

/** For all the steps that do not wait. */
const STEPS_SECONDS = 10;

/** @param steps of a scenario; lists among them, which YAML references bring in, are flattened */
export function flowOf(steps: unknown[], table: StepTable): Flow {
  const flow = read(steps, table);
  return { ...flow, staySeconds: flow.staySeconds + STEPS_SECONDS };
}

/** @returns the step's verb; undefined unless it has exactly one, or others that it may stand beside */
export function verbOf(step: unknown, table: StepTable): string | undefined {
  if (typeof step !== 'object' || step === null) return undefined;
  const verbs = Object.keys(step).filter((key) => key in table);
  if (verbs.length === 1) return verbs[0];
  return verbs.find((verb) => verbs.every((other) => other === verb || table[verb]?.besideKeys?.includes(other)));
}

/** @returns of several flows, the connections of the one that makes most */
export function mostConnections(all: ConnectionsPerUser[]): ConnectionsPerUser {
  return all.reduce((most, one) => (one.count > most.count ? one : most), ONE_CONNECTION);
}

function read(steps: unknown[], table: StepTable): Flow {
  const parts = steps.flat().map((step) => readStep(step, table));
  return {
    staySeconds: parts.reduce((sum, { staySeconds }) => sum + staySeconds, 0),
    connections: mostConnections(parts.map(({ connections }) => connections)),
    connection: parts.find(({ connection }) => Object.keys(connection).length > 0)?.connection ?? {},
  };
}

function readStep(step: unknown, table: StepTable): Flow {
  const kind = table[verbOf(step, table) ?? ''];
  const parsed = kind?.schema.safeParse(step);
  // What is no step of ours, or a wrong one, is the validation's to report.
  if (!kind || !parsed?.success) return { staySeconds: 0, connections: ONE_CONNECTION, connection: {} };
  const spec = parsed.data;
  const children = kind.childrenKey === undefined ? [] : (step as Record<string, unknown[]>)[kind.childrenKey];
  const inside = read(children ?? [], table);
  return {
    staySeconds: kind.staySeconds(spec, inside.staySeconds),
    connections: mostConnections([kind.connections?.(spec) ?? ONE_CONNECTION, inside.connections]),
    connection: kind.connection?.(spec) ?? inside.connection,
  };
}
