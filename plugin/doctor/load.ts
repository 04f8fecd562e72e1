/** What a scenario asks of the machine and of the target. */

import type { ClientKind } from '../../protocol/connection.ts';
import { isLoopback } from '../../protocol/loopback.ts';
import type { Settings } from '../script/settings.ts';

export interface Load {
  target: string;
  /** At once, an upper estimate where virtual users leave by themselves. */
  connections: number;
  /** New connections per second while there are arrivals; null without any. */
  ratePerSec: number | null;
  /** Null when the run sends none. */
  broadcasts: { bytes: number; intervalSeconds: number } | null;
  /** `external`: another engine than ours, which keeps its connections inside of Artillery. */
  client: ClientKind | 'external';
  /** The target is on this machine. */
  local: boolean;
  /** Source addresses that the scenario names. */
  localAddresses: string[];
}

export function readLoad({ target, load, broadcasts, engineOptions }: Settings): Load {
  const { count, bytes, interval } = broadcasts;
  return {
    target,
    connections: load.connectionsAtOnce,
    ratePerSec: load.ratePerSec,
    broadcasts: count > 0 ? { bytes, intervalSeconds: interval } : null,
    client: engineOptions?.client ?? 'external',
    local: isLoopback(new URL(target).hostname),
    localAddresses: engineOptions?.localAddresses ?? [],
  };
}
