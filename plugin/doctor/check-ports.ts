/**
 * Checks that there are enough source ports for each section of the path from client to worker. A source port serves
 * one connection per source address and destination.
 */
import {
  CONNECTIONS_PER_LOOPBACK_ADDRESS,
  fleetProcessCount,
  SOURCE_PORTS,
} from '../../protocol/base/machine/generator-resources.ts';
import { rotatesLoopback } from '../../protocol/base/machine/loopback.ts';
import type { DoctorMachine } from './check-machine.ts';
import { deploymentPlan } from './deployment.ts';
import type { LimitCheck } from './doctor-checks.ts';
import type { DoctorSituation } from './situation.ts';

const LOCAL_ADDRESSES = 'config.engines.socketio-capacity.localAddresses';
const PORTS = { first: 1024, last: 65_535 };
/** Seconds for which the port of a closed connection cannot be reused, without and with `tcp_tw_reuse`. */
const TIME_WAIT_SECONDS = { kept: 60, reused: 1 };

/** Returns the limit of source ports for connections from the generator to the target. */
export function generatorPorts(situation: DoctorSituation): LimitCheck {
  const { machine, load } = situation;
  const { localAddresses, client, target } = load;
  const name = 'generatorPorts';
  const kernelPorts = ephemeralPorts(machine);
  const needs = (n: number) => n + portsInTimeWait(situation, n);
  // Only the light client can choose source ports.
  const portsAt = (n: number) => (client === 'light' ? countedPorts(n, machine) : kernelPorts);
  const reuse =
    portsInTimeWait(situation, 1) > 0 && !reusesPorts(situation) ? 'sysctl -w net.ipv4.tcp_tw_reuse=1; or ' : '';
  const listMore = (needed: number, n: number) =>
    `${LOCAL_ADDRESSES}: list ${Math.ceil(needed / portsAt(n))} addresses of this machine`;
  if (localAddresses.length > 0) {
    return { name, needs, has: (n) => localAddresses.length * portsAt(n), raise: (...to) => reuse + listMore(...to) };
  }
  if (client === 'external' || !rotatesLoopback(new URL(target).hostname)) {
    const raise = (needed: number, n: number) =>
      reuse + raisePorts(machine, needed, client === 'external' ? 'engine: socketio-capacity' : listMore(needed, n));
    return { name, needs, has: () => kernelPorts, raise };
  }
  const share = CONNECTIONS_PER_LOOPBACK_ADDRESS;
  if (!machine.manyLoopbackAddresses) {
    const raise = (_: number, n: number) =>
      `ifconfig lo0 alias 127.0.0.2, and so on up to 127.0.0.${Math.ceil(n / share) + 1}`;
    return { name, needs, has: (n) => (n <= share ? kernelPorts : 0), raise };
  }
  return {
    name,
    // The generator uses its source addresses in turn, so each address has an equal share of the connections.
    needs: (n) => needs(Math.min(n, share)),
    has: (n) => (n <= share ? kernelPorts : portsAt(n)),
    raise: (needed) => reuse + raisePorts(machine, needed, `${LOCAL_ADDRESSES}: [127.0.0.2]`),
  };
}

/**
 * Returns the number of source ports in TIME_WAIT while `connections` further connections are open. These ports belong
 * to connections that the generator has closed.
 */
function portsInTimeWait(situation: DoctorSituation, connections: number): number {
  const { ratePerSec, socketsLeft, turnover } = situation.load;
  if (ratePerSec === null) return 0;
  const seconds = TIME_WAIT_SECONDS[reusesPorts(situation) ? 'reused' : 'kept'];
  return socketsLeft * Math.min(Math.ceil(connections * turnover), Math.ceil(ratePerSec * seconds));
}

function reusesPorts({ machine: { timeWaitReuse }, load }: DoctorSituation): boolean {
  return timeWaitReuse === 'all' || (timeWaitReuse === 'loopback' && load.local);
}

/**
 * Returns the limit of source ports for connections from nginx to the workers. Each worker listens on a separate port,
 * so source ports are counted per worker.
 */
export function proxyPorts({ machine, deployment }: DoctorSituation): LimitCheck {
  const ports = ephemeralPorts(machine);
  const pathsAt = (n: number) => {
    const plan = deploymentPlan(deployment, machine, n);
    return plan ? plan.workers * plan.nginx.sourceAddresses : Number.POSITIVE_INFINITY;
  };
  return {
    name: 'proxyPorts',
    needs: (n) => Math.ceil(n / pathsAt(n)),
    has: () => ports,
    raise: (needed, n) =>
      raisePorts(machine, needed, `config.plugins.socketio-capacity.workers: ${Math.ceil(n / ports)}`),
  };
}

/**
 * Returns the number of usable ports in a range. The kernel searches the range in steps of two, so it never uses the
 * last port of an odd range.
 */
function ephemeralPorts({ ephemeralPorts: { first, last } }: DoctorMachine): number {
  const ports = last - first + 1;
  return ports - (ports % 2);
}

/**
 * Returns the number of source ports per address that the light client uses. Each fleet process gets an equal part of
 * the port range.
 */
function countedPorts(connections: number, { artilleryWorkers, openFiles }: DoctorMachine): number {
  const processes = fleetProcessCount(connections / artilleryWorkers, openFiles.hard, 'light');
  return processes * Math.floor((SOURCE_PORTS.last - SOURCE_PORTS.first + 1) / processes);
}

/**
 * Suggests a wider port range. Raises the upper end first, because the included stack listens on ports below the range.
 */
function raisePorts({ ephemeralPorts: { first } }: DoctorMachine, needed: number, alternative: string): string {
  const from = Math.min(first, PORTS.last - needed);
  if (from < PORTS.first) return alternative;
  return `sysctl -w net.ipv4.ip_local_port_range="${from} ${PORTS.last}"; or ${alternative}`;
}
