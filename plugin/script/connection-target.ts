/**
 * How a connection to the target is made: one answer for the load, for the receivers of the run itself, and for whoever
 * checks the target before. Two readings of the same options would sooner or later connect in two ways.
 */
import type { ConnectionOptions } from '../../protocol/connection.ts';
import type { EngineOptions } from './engine-options.ts';
import type { Flow } from './flow.ts';

export interface ConnectionTarget extends ConnectionOptions {
  /** In which virtual users are without a step that says otherwise. */
  namespace: string;
}

/** @param flow what its first `connect` changes counts, as far as the script itself says it */
export function connectionTargetOf(
  { connection, baseNamespace }: EngineOptions,
  flow: Flow | undefined,
): ConnectionTarget {
  const { query, headers, ...changes } = flow?.connection ?? {};
  return {
    ...connection,
    ...changes,
    query: { ...connection.query, ...query },
    headers: { ...connection.headers, ...headers },
    namespace: baseNamespace || '/',
  };
}
