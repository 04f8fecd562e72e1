/** Reads the limits of this machine once, before a run. A value that cannot be read is treated as no limit. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { cpus } from 'node:os';
import { readCgroup } from '../../protocol/base/machine/cgroup.ts';
import { openFileLimits } from '../../protocol/base/machine/open-files.ts';
import { allowedCpus, availableMemory, lowestCpuQuota } from '../../protocol/base/machine/usable.ts';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';
import { decimalsText } from '../../report/text/format.ts';
import { hasPm2 } from '../../server/stack/pm2.ts';
import { findTool, type StackTool } from '../../server/stack/tools.ts';

/** Programs that a run starts, and that may be missing after `npm install`. */
export type RequiredProgram = StackTool | 'pm2';

export interface DoctorMachine {
  /**
   * Maximum number of open files in a process. Node raises its soft limit to the hard limit, and child processes
   * inherit it.
   */
  openFiles: { soft: number; hard: number /** `fs.nr_open`: maximum of the hard limit. */; ceiling: number };
  /** `fs.file-max`: maximum number of open files in all processes, and the number of files that are open now. */
  systemFiles: { max: number; used: number };
  /** Range of ports that the kernel uses for outgoing connections. */
  ephemeralPorts: { first: number; last: number };
  /** `net.ipv4.tcp_tw_reuse`: which connections may reuse a port in TIME_WAIT after one second. */
  timeWaitReuse: 'none' | 'all' | 'loopback';
  /** `net.core.somaxconn`: maximum length of an accept queue. */
  somaxconn: number;
  /** Maximum number of entries in connection tracking (conntrack); null if the kernel tracks no connections. */
  conntrack: { max: number; used: number } | null;
  /** Memory that is available without swapping and within the limits of a container. */
  memoryAvailableBytes: number;
  /** Whether the machine or a container sets the memory limit. */
  memoryLimitedBy: 'machine' | 'container';
  /** Memory limit for all TCP buffers together, which is the last value of `net.ipv4.tcp_mem`. */
  tcpMemoryBytes: number;
  /** Number of cores that a run may use. It is a fraction if a CPU quota allows less than a whole core. */
  cores: number;
  /** CPU quota of the container in cores; null without a quota. */
  cpuQuota: number | null;
  /** Number of threads in which Artillery runs virtual users. */
  artilleryWorkers: number;
  /** Whether all addresses of 127.0.0.0/8 can be used, as on Linux. */
  manyLoopbackAddresses: boolean;
  /** Programs of the included stack that are not installed. */
  missing: RequiredProgram[];
}

/** Port range for outgoing connections that IANA recommends and macOS uses. */
const IANA_PORTS = { first: 49_152, last: 65_535 };
const PAGE_BYTES = 4096;
const TOOLS: StackTool[] = ['nginx', 'redis-server'];

export async function readDoctorMachine(): Promise<DoctorMachine> {
  const [first, last] = sysctl('net/ipv4/ip_local_port_range');
  const [, , tcpPages] = sysctl('net/ipv4/tcp_mem');
  const [used] = sysctl('fs/file-nr');
  const { manyLoopbackAddresses, conntrack } = await tryLoopback();
  const cgroup = readCgroup();
  const memory = availableMemory(cgroup);
  const cpuQuota = lowestCpuQuota(cgroup) ?? null;
  return {
    openFiles: { ...openFileLimits(), ceiling: sysctl('fs/nr_open')[0] ?? Infinity },
    systemFiles: { max: sysctl('fs/file-max')[0] ?? Infinity, used: used ?? 0 },
    ephemeralPorts: first !== undefined && last !== undefined ? { first, last } : IANA_PORTS,
    timeWaitReuse: (['none', 'all', 'loopback'] as const)[sysctl('net/ipv4/tcp_tw_reuse')[0] ?? 0] ?? 'none',
    somaxconn: sysctl('net/core/somaxconn')[0] ?? Infinity,
    conntrack,
    memoryAvailableBytes: memory.bytes,
    memoryLimitedBy: memory.limitedBy,
    tcpMemoryBytes: (tcpPages ?? Infinity) * PAGE_BYTES,
    cores: Math.min(allowedCpus().length, cpuQuota ?? Infinity),
    cpuQuota,
    // Artillery 2.0.34 computes its number of workers in the same way.
    artilleryWorkers: Math.max(1, cpus().length - 1),
    manyLoopbackAddresses,
    missing: [...TOOLS.filter((tool) => findTool(tool) === undefined), ...(hasPm2() ? [] : ['pm2' as const])],
  };
}

/**
 * Opens a connection from 127.0.0.2 to 127.0.0.1. It shows whether that address can be used, and whether the kernel
 * tracks connections: a loaded conntrack module is not enough, because only a rule starts the tracking.
 */
async function tryLoopback(): Promise<Pick<DoctorMachine, 'manyLoopbackAddresses' | 'conntrack'>> {
  const server = createServer();
  const listening = once(server, 'listening').catch(() => undefined);
  server.listen(0, '127.0.0.1');
  // Nothing can listen on this machine if the network namespace has no active loopback interface. Other checks report
  // this error.
  if (!(await listening)) return { manyLoopbackAddresses: false, conntrack: null };
  const { port } = server.address() as AddressInfo;
  const connectFrom = (localAddress: string) =>
    new Promise<Socket | undefined>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port, localAddress });
      socket.once('connect', () => resolve(socket));
      socket.once('error', () => resolve(undefined));
    });
  const second = await connectFrom('127.0.0.2');
  const socket = second ?? (await connectFrom('127.0.0.1'));
  const conntrack = readConntrack();
  socket?.destroy();
  server.close();
  return { manyLoopbackAddresses: second !== undefined, conntrack };
}

/**
 * Reads the number of tracked connections. Must be called while a connection is open. If the number is then 0, the
 * kernel tracks no connections.
 */
function readConntrack(): DoctorMachine['conntrack'] {
  const [max] = sysctl('net/netfilter/nf_conntrack_max');
  const [used] = sysctl('net/netfilter/nf_conntrack_count');
  return max && used ? { max, used } : null;
}

/** Returns the numbers of a kernel setting; empty if the setting does not exist. */
export function sysctl(name: string): number[] {
  const text = tryOrUndefined(() => readFileSync(`/proc/sys/${name}`, 'utf8'));
  return text?.trim().split(/\s+/).map(Number) ?? [];
}

/** Returns a text such as `2 cores` or `0.5 cores (CPU quota of the container)`. */
export function coresText(machine: Cores): string {
  const cores = `${decimalsText(machine.cores, Number.isInteger(machine.cores) ? 0 : 2)} cores`;
  return isQuota(machine) ? `${cores} (CPU quota of the container)` : cores;
}

/** Returns the number of cores for suggested fixes, as in "or 4 cores". */
export function coresNeeded(machine: Cores, cores: number): string {
  return isQuota(machine) ? `a CPU quota of ${Math.ceil(cores)} cores` : `${Math.ceil(cores)} cores`;
}

type Cores = Pick<DoctorMachine, 'cores' | 'cpuQuota'>;

function isQuota({ cores, cpuQuota }: Cores): boolean {
  return cpuQuota !== null && cpuQuota <= cores;
}
