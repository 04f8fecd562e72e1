/**
 * How a connection to the target is made: the same for the load, for the receivers of the run itself, and for the checks
 * before the load. If each of them read the options, they would sooner or later connect differently.
 */
import type { ConnectionOptions } from '../../protocol/wire/connection.ts';
import type { Flow } from './load/flow.ts';
import { changesOf } from './options/connect-options.ts';
import type { EngineOptions } from './options/engine-options.ts';

export interface ConnectionTarget extends ConnectionOptions {
  /** The namespace of virtual users, unless a step names another one. */
  namespace: string;
}

/** @param flow its connection options apply, too */
export function connectionTargetOf({ connection, baseNamespace }: EngineOptions, flow?: Flow): ConnectionTarget {
  return { ...connection, ...changesOf(connection, flow?.connect ?? []), namespace: baseNamespace || '/' };
}
