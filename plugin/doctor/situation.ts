/** Input of the doctor: the machine, the load of the scenario, and the deployment. */
import { isLoopback } from '../../protocol/base/machine/loopback.ts';
import {
  type ClientKind,
  SOCKETS_CLOSED_BY_CLIENT,
  SOCKETS_PER_CONNECTION,
  transportsName,
} from '../../protocol/wire/connection.ts';
import type { Settings } from '../script/settings.ts';
import { type DoctorMachine, readDoctorMachine } from './check-machine.ts';
import { type DoctorDeployment, readDeployment } from './deployment.ts';

export interface DoctorLoad {
  target: string;
  /**
   * Number of connections that are open at the same time. It is an upper estimate if virtual users leave by themselves.
   */
  connections: number;
  /**
   * Number of connections in the whole run, divided by the number of connections that are open at the same time. It is
   * 1 unless virtual users arrive and leave continuously.
   */
  turnover: number;
  /** Number of new connections per second during the ramps; null without arrivals. */
  ratePerSec: number | null;
  /**
   * Whether some virtual users leave by themselves, so that only few users may be left for the measurements after the
   * ramps.
   */
  leaves: boolean;
  /** Whether each virtual user leaves before the next one arrives. */
  alone: boolean;
  /** Size and interval of the broadcasts; null if the run sends none. */
  broadcasts: { bytes: number; intervalSeconds: number } | null;
  /** Kind of client. `external`: a third-party engine, whose connections are in Artillery's process. */
  client: ClientKind | 'external';
  /** Whether the clients offer permessage-deflate compression. */
  compression: boolean;
  /** Whether the target is on this machine. */
  local: boolean;
  /** Number of TCP connections per Socket.IO connection. */
  sockets: number;
  /**
   * Number of TCP connections that each Socket.IO connection closes during the load. Their source ports stay in
   * TIME_WAIT.
   */
  socketsLeft: number;
  /** Source addresses from the scenario's options. */
  localAddresses: string[];
}

export function readDoctorLoad({
  target,
  load,
  broadcasts,
  connection,
  engineOptions,
  overTime,
  usersLeave,
}: Settings): DoctorLoad {
  const { count, bytes, interval } = broadcasts;
  const transports = transportsName(connection.transports);
  const { opening, leaving } = SOCKETS_CLOSED_BY_CLIENT[transports];
  const client = engineOptions?.client ?? 'external';
  return {
    target,
    connections: load.connectionsAtOnce,
    turnover: load.connectionsAtOnce > 0 ? load.connections / load.connectionsAtOnce : 1,
    ratePerSec: load.ratePerSec,
    leaves: !load.stays && overTime === undefined,
    alone: usersLeave && load.connectionsAtOnce <= 1,
    broadcasts: count > 0 ? { bytes, intervalSeconds: interval } : null,
    client,
    compression: connection.compression ?? false,
    local: isLoopback(new URL(target).hostname),
    sockets: SOCKETS_PER_CONNECTION[transports],
    socketsLeft: client === 'light' ? opening + (load.stays ? 0 : leaving) : 0,
    localAddresses: engineOptions?.localAddresses ?? [],
  };
}

export interface DoctorSituation {
  machine: DoctorMachine;
  load: DoctorLoad;
  deployment: DoctorDeployment;
}

export async function readDoctorSituation(settings: Settings): Promise<DoctorSituation> {
  const [machine, deployment] = await Promise.all([readDoctorMachine(), readDeployment(settings)]);
  return { machine, load: readDoctorLoad(settings), deployment };
}
