import type { z } from 'zod';
import type { StepDeclaration } from '../../script/flow.ts';
import type { EngineContext } from '../engine-context.ts';
import type { AwaitedEvent } from '../session.ts';
import type { Template } from '../template.ts';
import type { Step } from '../virtual-user.ts';

/** What a step can use while it is compiled, once per scenario. */
export interface Build {
  engine: EngineContext;
  template(value: unknown): Template;
  /** Compiles the steps inside a step. */
  steps(specs: unknown[]): Step[];
  /** The namespace as the server knows it, with the target's path in front. */
  namespace(name: string): string;
  /** Events to keep from the moment their namespace connects. */
  awaited: AwaitedEvent[];
}

/** One verb of a flow: what it declares of itself before a run, and the code that runs it. */
export interface StepKind extends StepDeclaration {
  compile(spec: unknown, build: Build): Step;
}

/** Ties a step's schema to the code that gets what the schema parsed. */
export function defineStep<S extends z.ZodType>(
  kind: StepDeclaration<z.output<S>> & { schema: S; compile(spec: z.output<S>, build: Build): Step },
): StepKind {
  return { ...kind, compile: (spec, build) => kind.compile(kind.schema.parse(spec), build) } as StepKind;
}
