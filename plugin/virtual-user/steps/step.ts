import type { z } from 'zod';
import type { FleetConnection } from '../../fleet/remote-connection.ts';
import type { StepDeclaration } from '../../script/load/flow.ts';
import type { RequestHooks } from '../artillery-types.ts';
import type { ConnectionChanges } from '../connection-changes.ts';
import type { AwaitedEvent, WatchedEvent } from '../mailbox.ts';
import type { Shared } from '../shared.ts';
import type { Template } from '../template.ts';
import type { Step, VirtualUser } from '../virtual-user.ts';

/** Context in which a step is compiled, once per scenario. */
export interface Build {
  shared: Shared;
  template(value: unknown): Template;
  /** Compiles the steps inside a step. */
  steps(specs: unknown[]): Step[];
  /** Returns the namespace's full name, which includes the path in the target. */
  namespace(name: string): string;
  connectionChanges: ConnectionChanges;
  /** Returns the virtual user's connection with the namespace open; opens it if needed. */
  use(user: VirtualUser, namespace: string): Promise<FleetConnection>;
  requestHooks: RequestHooks;
  /** Facts that steps report while they are compiled. */
  uses: {
    /** Events to keep from the moment their namespace connects. */
    awaited: AwaitedEvent[];
    /** Events that are passed to a function one by one, from the moment their namespace connects. */
    watched: WatchedEvent[];
    /** Whether a step uses Artillery's HTTP engine, which must prepare each virtual user. */
    http: boolean;
  };
}

/** A verb of a flow: its declaration, which is read before a run, and its code. */
export interface StepKind extends StepDeclaration {
  compile(spec: unknown, build: Build): Step;
}

/** Defines a step. The schema parses it before its code gets it, and determines its type. */
export function defineStep<S extends z.ZodType>(
  kind: StepDeclaration<z.output<S>> & { schema: S; compile(spec: z.output<S>, build: Build): Step },
): StepKind {
  return { ...kind, compile: (spec, build) => kind.compile(kind.schema.parse(spec), build) } as StepKind;
}
