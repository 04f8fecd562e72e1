/**
 * How a connection to the target is made: the same for the load, for the receivers of the run itself, and for the checks
 * before the load. If each of them read the options, they would sooner or later connect differently.
 */
import type { ConnectionOptions } from '../../protocol/connection.ts';
import type { Flow } from './load/flow.ts';
import type { EngineOptions } from './options/engine-options.ts';

export interface ConnectionTarget extends ConnectionOptions {
  /** The namespace of virtual users, unless a step names another one. */
  namespace: string;
}

/** @param flow the changes of its first `connect` apply, except for values that come from templates */
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
