/**
 * Options of connections to the target. The load, the run's own receivers and the checks of the target use the same
 * options, so all of them connect in the same way.
 */
import type { ConnectionOptions } from '../../protocol/wire/connection.ts';
import type { Flow } from './load/flow.ts';
import { connectionDifferences } from './options/connect-options.ts';
import type { EngineOptions } from './options/engine-options.ts';

export interface ConnectionTarget extends ConnectionOptions {
  /** Namespace of a virtual user's connection if its steps name no namespace. */
  namespace: string;
}

/**
 * Returns the options for connections to the target.
 * @param flow flow whose connection options are applied, too
 */
export function connectionTargetOf({ connection, baseNamespace }: EngineOptions, flow?: Flow): ConnectionTarget {
  return { ...connection, ...connectionDifferences(connection, flow?.connect ?? []), namespace: baseNamespace || '/' };
}
