import type { z } from 'zod';
import type { FleetConnection } from '../../fleet/remote-connection.ts';
import type { StepDeclaration } from '../../script/load/flow.ts';
import type { RequestHooks } from '../artillery-types.ts';
import type { ConnectionChanges } from '../connection-changes.ts';
import type { AwaitedEvent, WatchedEvent } from '../mailbox.ts';
import type { SharedByUsers } from '../shared.ts';
import type { Template } from '../template.ts';
import type { CompiledStep, VirtualUser } from '../virtual-user.ts';

/** Context for compiling the steps of a scenario. */
export interface StepBuildContext {
  shared: SharedByUsers;
  template(value: unknown): Template;
  /** Compiles the steps inside another step. */
  steps(specs: unknown[]): CompiledStep[];
  /** Returns the full name of a namespace, including the namespace in the target's path. */
  namespace(name: string): string;
  connectionChanges: ConnectionChanges;
  /** Returns the virtual user's connection with the namespace. Opens the namespace first if needed. */
  use(user: VirtualUser, namespace: string): Promise<FleetConnection>;
  requestHooks: RequestHooks;
  /** Needs of the scenario's steps, which are collected while the steps are compiled. */
  uses: {
    /** Events that are kept for `waitFor` steps, from the time at which the events' namespace opens. */
    awaited: AwaitedEvent[];
    /** Events that are passed to a function, from the time at which the events' namespace opens. */
    watched: WatchedEvent[];
    /** Whether a step uses Artillery's HTTP engine. The HTTP engine must then prepare each virtual user. */
    http: boolean;
  };
}

/** A kind of step: the declaration is used to validate scenarios before a run, `compile` during the run. */
export interface StepKind extends StepDeclaration {
  compile(spec: unknown, build: StepBuildContext): CompiledStep;
}

/** Defines a kind of step. The schema validates the step and determines the type that `compile` gets. */
export function defineStep<S extends z.ZodType>(
  kind: StepDeclaration<z.output<S>> & { schema: S; compile(spec: z.output<S>, build: StepBuildContext): CompiledStep },
): StepKind {
  return { ...kind, compile: (spec, build) => kind.compile(kind.schema.parse(spec), build) } as StepKind;
}
