/** Source ports of each hop: a port serves one connection per source address and destination. */
import {
  CONNECTIONS_PER_LOOPBACK_ADDRESS,
  fleetProcesses,
  SOURCE_PORTS,
} from '../../protocol/base/machine/generator-resources.ts';
import { rotatesLoopback } from '../../protocol/base/machine/loopback.ts';
import type { Machine } from './check-machine.ts';
import { planFor } from './deployment.ts';
import type { LimitCheck } from './doctor-checks.ts';
import type { Situation } from './situation.ts';

const LOCAL_ADDRESSES = 'config.engines.socketio-capacity.localAddresses';
const PORTS = { first: 1024, last: 65_535 };
/** How long the kernel keeps the port of an ended connection; or, if it may take it again, how long it waits for that. */
const TIME_WAIT_SECONDS = { kept: 60, reused: 1 };

/** From the generator to the target. */
export function generatorPorts(situation: Situation): LimitCheck {
  const { machine, load } = situation;
  const { localAddresses, client, target } = load;
  const name = 'generatorPorts';
  const kernelPorts = ephemeralPorts(machine);
  const needs = (n: number) => n + portsWaiting(situation, n);
  // Only the light client chooses source ports itself.
  const portsAt = (n: number) => (client === 'light' ? countedPorts(n, machine) : kernelPorts);
  const reuse =
    portsWaiting(situation, 1) > 0 && !reusesPorts(situation) ? 'sysctl -w net.ipv4.tcp_tw_reuse=1; or ' : '';
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
    // Beyond one address's share, the generator rotates through addresses, and none gets more than that.
    needs: (n) => needs(Math.min(n, share)),
    has: (n) => (n <= share ? kernelPorts : portsAt(n)),
    raise: (needed) => reuse + raisePorts(machine, needed, `${LOCAL_ADDRESSES}: [127.0.0.2]`),
  };
}

/** Ports of connections that the generator has ended, while `connections` exist at the same time. */
function portsWaiting(situation: Situation, connections: number): number {
  const { ratePerSec, socketsLeft, turnover } = situation.load;
  if (ratePerSec === null) return 0;
  const seconds = TIME_WAIT_SECONDS[reusesPorts(situation) ? 'reused' : 'kept'];
  return socketsLeft * Math.min(Math.ceil(connections * turnover), Math.ceil(ratePerSec * seconds));
}

function reusesPorts({ machine: { timeWaitReuse }, load }: Situation): boolean {
  return timeWaitReuse === 'all' || (timeWaitReuse === 'loopback' && load.local);
}

/** From nginx to the workers, each of which has its own port. */
export function proxyPorts({ machine, deployment }: Situation): LimitCheck {
  const ports = ephemeralPorts(machine);
  const pathsAt = (n: number) => {
    const plan = planFor(deployment, machine, n);
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

/** The kernel searches in steps of two, and skips the last port of an odd number. */
function ephemeralPorts({ ephemeralPorts: { first, last } }: Machine): number {
  const ports = last - first + 1;
  return ports - (ports % 2);
}

/** Ports of one address that the light client uses, divided among the fleet processes. */
function countedPorts(connections: number, { artilleryWorkers, openFiles }: Machine): number {
  const processes = fleetProcesses(connections / artilleryWorkers, openFiles.hard, 'light');
  return processes * Math.floor((SOURCE_PORTS.last - SOURCE_PORTS.first + 1) / processes);
}

/** Widens the range upwards first: the stack's own listeners are below it. */
function raisePorts({ ephemeralPorts: { first } }: Machine, needed: number, otherwise: string): string {
  const from = Math.min(first, PORTS.last - needed);
  if (from < PORTS.first) return otherwise;
  return `sysctl -w net.ipv4.ip_local_port_range="${from} ${PORTS.last}"; or ${otherwise}`;
}
