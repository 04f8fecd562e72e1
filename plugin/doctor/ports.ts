/** Source ports of each hop: a port serves one connection per source address and destination. */
import { CONNECTIONS_PER_LOOPBACK_ADDRESS, fleetProcesses, SOURCE_PORTS } from '../../protocol/generator.ts';
import { rotatesLoopback } from '../../protocol/loopback.ts';
import { planFor } from './deployment.ts';
import type { LimitCheck } from './limit-check.ts';
import type { Machine } from './machine.ts';
import type { Situation } from './situation.ts';

const LOCAL_ADDRESSES = 'config.engines.socketio-capacity.localAddresses';
const PORTS = { first: 1024, last: 65_535 };

/** From the generator to the target. */
export function generatorPorts({ machine, load }: Situation): LimitCheck {
  const { localAddresses, client, target } = load;
  const name = 'generatorPorts';
  const kernelPorts = ephemeralPorts(machine);
  // Only the light client chooses source ports itself.
  const portsAt = (n: number) => (client === 'light' ? countedPorts(n, machine) : kernelPorts);
  const listMore = (n: number) => `${LOCAL_ADDRESSES}: list ${Math.ceil(n / portsAt(n))} addresses of this machine`;
  if (localAddresses.length > 0) {
    return { name, fits: (n) => n <= localAddresses.length * portsAt(n), raise: listMore };
  }
  if (client === 'external' || !rotatesLoopback(new URL(target).hostname)) {
    const otherwise = (n: number) => (client === 'external' ? 'engine: socketio-capacity' : listMore(n));
    return { name, fits: (n) => n <= kernelPorts, raise: (n) => raisePorts(machine, n, otherwise(n)) };
  }
  const share = CONNECTIONS_PER_LOOPBACK_ADDRESS;
  if (!machine.manyLoopbackAddresses) {
    return {
      name,
      fits: (n) => n <= Math.min(share, kernelPorts),
      raise: (n) => `ifconfig lo0 alias 127.0.0.2, and so on up to 127.0.0.${Math.ceil(n / share) + 1}`,
    };
  }
  return {
    name,
    // Beyond one address's share, the generator rotates through addresses, and none gets more than that.
    fits: (n) => (n <= share ? n <= kernelPorts : portsAt(n) >= share),
    raise: (n) => raisePorts(machine, Math.min(n, share), `${LOCAL_ADDRESSES}: [127.0.0.2]`),
  };
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
    fits: (n) => n <= pathsAt(n) * ports,
    raise: (n) => {
      const more = `config.plugins.socketio-capacity.workers: ${Math.ceil(n / ports)}`;
      return raisePorts(machine, Math.ceil(n / pathsAt(n)), more);
    },
  };
}

/** The kernel searches in steps of two, and skips the last port of an odd number. */
function ephemeralPorts({ ephemeralPorts: { first, last } }: Machine): number {
  const ports = last - first + 1;
  return ports - (ports % 2);
}

/** Ports of one address that the light client uses, divided among the fleet processes. */
function countedPorts(connections: number, { artilleryWorkers, openFiles }: Machine): number {
  const processes = fleetProcesses(connections / artilleryWorkers, openFiles.hard);
  return processes * Math.floor((SOURCE_PORTS.last - SOURCE_PORTS.first + 1) / processes);
}

/** Widens the range upwards first: the stack's own listeners are below it. */
function raisePorts({ ephemeralPorts: { first } }: Machine, needed: number, otherwise: string): string {
  const from = Math.min(first, PORTS.last - needed);
  if (from < PORTS.first) return otherwise;
  return `sysctl -w net.ipv4.ip_local_port_range="${from} ${PORTS.last}"; or ${otherwise}`;
}
