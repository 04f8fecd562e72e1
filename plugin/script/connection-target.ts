/** Options of a connection to the target. The load, the run's own receivers and the checks share them, so all connect in the same way. */
import type { ConnectionOptions } from '../../protocol/wire/connection.ts';
import type { Flow } from './load/flow.ts';
import { changesOf } from './options/connect-options.ts';
import type { EngineOptions } from './options/engine-options.ts';

export interface ConnectionTarget extends ConnectionOptions {
  /** Namespace of virtual users, unless a step names a different one. */
  namespace: string;
}

/** @param flow flow whose connection options are also applied */
export function connectionTargetOf({ connection, baseNamespace }: EngineOptions, flow?: Flow): ConnectionTarget {
  return { ...connection, ...changesOf(connection, flow?.connect ?? []), namespace: baseNamespace || '/' };
}
