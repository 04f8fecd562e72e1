/** The part of Artillery's engine interface that this engine uses. Artillery publishes no types for it. */
import type { ScriptPhase } from '../script/script.ts';

/** Variables and template functions of a virtual user; Artillery creates it, processor functions change it. */
export interface UserContext {
  vars: Record<string, unknown>;
  funcs?: Record<string, (...args: unknown[]) => unknown>;
  /** Headers that a processor function adds to connections opened afterwards. */
  extraHeaders?: Record<string, string>;
  [key: string]: unknown;
}

/** Emitter of a scenario, the only one whose metrics Artillery records. */
export interface ScenarioEvents {
  emit(event: string, ...args: unknown[]): unknown;
}

/** Emitter of a worker's runner, for phases only. */
export interface RunnerEvents {
  on(event: 'phaseStarted' | 'phaseCompleted', listener: (phase: ScriptPhase) => void): unknown;
  /** Called when all virtual users of this worker have ended. */
  on(event: 'done', listener: () => void): unknown;
}

export interface Outcome {
  captures: Record<string, { value?: unknown; failed?: boolean }>;
  matches: Record<string, { success?: boolean }>;
}

/** Artillery's internal functions that it passes to engines. */
export interface Helpers {
  template(value: unknown, context: UserContext): unknown;
  captureOrMatch(
    params: { capture?: unknown; match?: unknown },
    response: { body: unknown },
    context: UserContext,
    done: (error: unknown, result: Outcome | null) => void,
  ): void;
}

export type ScenarioFunction = (context: UserContext, callback: (error: unknown, context: UserContext) => void) => void;
