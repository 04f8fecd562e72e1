/** Names of the doctor's checks, as the doctor prints them. */

/** Limits of the machine and the stack, by resource. */
export type DoctorLimitName =
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

/** A limited resource. A number of connections fits if `needs` is at most `has`. */
export interface LimitCheck {
  name: DoctorLimitName;
  needs: (connections: number) => number;
  /** Capacity of the resource. It depends on the number of connections, for which the stack is sized. */
  has: (connections: number) => number;
  /** Returns how to raise the limit to `needed`, if possible as a command. */
  raise: (needed: number, connections: number) => string;
}

/** Names of warnings, which do not prevent a run. */
export type DoctorWarningName =
  | 'unmeasured'
  | 'leaving'
  | 'alone'
  | 'acceptQueue'
  | 'rampCpu'
  | 'broadcastCpu'
  | 'generatorWaits'
  | 'tcpMemory';

/** Checks of the network path from this machine to the target. */
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
