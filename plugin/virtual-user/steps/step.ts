import type { z } from 'zod';
import type { FleetConnection } from '../../fleet/remote-connection.ts';
import type { StepDeclaration } from '../../script/load/flow.ts';
import type { RequestHooks } from '../artillery-types.ts';
import type { ConnectionChanges } from '../connection-changes.ts';
import type { AwaitedEvent, WatchedEvent } from '../mailbox.ts';
import type { Shared } from '../shared.ts';
import type { Template } from '../template.ts';
import type { Step, VirtualUser } from '../virtual-user.ts';

/** Available to a step while it is compiled, once per scenario. */
export interface Build {
  shared: Shared;
  template(value: unknown): Template;
  /** Compiles the steps inside a step. */
  steps(specs: unknown[]): Step[];
  /** @returns the namespace as the server knows it, after the path in the target */
  namespace(name: string): string;
  connectionChanges: ConnectionChanges;
  /** @returns the virtual user's connection with the namespace up, which is opened if need be */
  use(user: VirtualUser, namespace: string): Promise<FleetConnection>;
  requestHooks: RequestHooks;
  /** Facts that steps report while they are compiled. */
  uses: {
    /** Events to keep from the moment their namespace connects. */
    awaited: AwaitedEvent[];
    /** Events of which each is handed over, from the moment their namespace connects. */
    watched: WatchedEvent[];
    /** Artillery's HTTP engine, which prepares each virtual user for it. */
    http: boolean;
  };
}

/** A verb of a flow: its declaration, which is read before a run, and the code that runs it. */
export interface StepKind extends StepDeclaration {
  compile(spec: unknown, build: Build): Step;
}

/** Lets the schema parse the step before its code gets it, and infers the type of the result. */
export function defineStep<S extends z.ZodType>(
  kind: StepDeclaration<z.output<S>> & { schema: S; compile(spec: z.output<S>, build: Build): Step },
): StepKind {
  return { ...kind, compile: (spec, build) => kind.compile(kind.schema.parse(spec), build) } as StepKind;
}
