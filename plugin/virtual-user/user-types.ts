/** Types of Artillery's engine interface that this engine uses. Artillery publishes no types. */
import type { ScriptPhase } from '../script/script.ts';

/**
 * Variables and template functions of a virtual user. Artillery creates the context; processor functions can change it.
 */
export interface UserContext {
  vars: Record<string, unknown>;
  funcs?: Record<string, (...args: unknown[]) => unknown>;
  /** Headers that a processor function has set, for connections that are opened afterwards. */
  extraHeaders?: Record<string, string>;
  [key: string]: unknown;
}

/** Event emitter of a scenario. Artillery records only the metrics that it emits. */
export interface ScenarioEvents {
  emit(event: string, ...args: unknown[]): unknown;
}

/** Event emitter of a worker's runner, which reports phases. */
export interface RunnerEvents {
  on(event: 'phaseStarted' | 'phaseCompleted', listener: (phase: ScriptPhase) => void): unknown;
  /** Called when all virtual users of this worker have ended. */
  on(event: 'done', listener: () => void): unknown;
}

export interface UserOutcome {
  captures: Record<string, { value?: unknown; failed?: boolean }>;
  matches: Record<string, { success?: boolean }>;
}

/** Internal functions that Artillery passes to engines. */
export interface ArtilleryHelpers {
  template(value: unknown, context: UserContext): unknown;
  captureOrMatch(
    params: { capture?: unknown; match?: unknown },
    response: { body: unknown },
    context: UserContext,
    done: (error: unknown, result: UserOutcome | null) => void,
  ): void;
}

export type ScenarioFunction = (context: UserContext, callback: (error: unknown, context: UserContext) => void) => void;
