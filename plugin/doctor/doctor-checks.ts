/** The doctor's checks by printed name. */

/** Limits of machine and stack, by resource. */
export type LimitName =
  | 'generatorFiles'
  | 'generatorPorts'
  | 'proxyPorts'
  | 'workerFiles'
  | 'nginxConnections'
  | 'machineMemory'
  | 'containerMemory'
  | 'systemFiles'
  | 'conntrack'
  | 'pings';

/** One limited resource. A number of connections fits if `needs` is at most `has`. */
export interface LimitCheck {
  name: LimitName;
  needs: (connections: number) => number;
  /** Depends on the connections, because the stack is planned for them. */
  has: (connections: number) => number;
  /** Returns how to raise the limit to `needed`, as a command where possible. */
  raise: (needed: number, connections: number) => string;
}

/** Warnings; a run starts despite them. */
export type WarningName =
  | 'unmeasured'
  | 'leaving'
  | 'alone'
  | 'acceptQueue'
  | 'rampCpu'
  | 'broadcastCpu'
  | 'generatorWaits'
  | 'tcpMemory';

/** Checks of the path from this machine to the target. */
export type TargetCheckName =
  | 'name'
  | 'certificate'
  | 'websocket'
  | 'polling'
  | 'connect'
  | 'control'
  | 'workers'
  | 'clock'
  | 'processes'
  | 'inspector'
  | 'redis'
  | 'metrics'
  | 'limits'
  | 'burst'
  | 'idle';
