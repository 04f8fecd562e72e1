/** The limits of this machine, read once before a run. A value that cannot be read counts as no limit. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { cpus } from 'node:os';
import { attempt } from '../../protocol/base/attempt.ts';
import { readCgroup } from '../../protocol/base/machine/cgroup.ts';
import { openFileLimits } from '../../protocol/base/machine/open-files.ts';
import { allowedCpus, availableMemory, lowestQuota } from '../../protocol/base/machine/usable.ts';
import { decimals } from '../../report/text/format.ts';
import { hasPm2 } from '../../server/stack/pm2.ts';
import { findTool, type Tool } from '../../server/stack/tools.ts';

/** Programs that a run starts, and that npm may not have installed. */
export type Program = Tool | 'pm2';

export interface Machine {
  /** Open files of one process. Node raises its soft limit to the hard limit, and child processes inherit it. */
  openFiles: { soft: number; hard: number /** `fs.nr_open`: how high root can set the hard limit. */; ceiling: number };
  /** Open files of all processes: `fs.file-max`, and the number open now. */
  systemFiles: { max: number; used: number };
  /** Range from which the kernel chooses ports for outgoing connections. */
  ephemeralPorts: { first: number; last: number };
  /** `net.ipv4.tcp_tw_reuse`: connections that can reuse a port in TIME_WAIT after one second. */
  timeWaitReuse: 'none' | 'all' | 'loopback';
  /** `net.core.somaxconn`: longest accept queue. */
  somaxconn: number;
  /** Entries of connection tracking; null if the kernel does not track connections. */
  conntrack: { max: number; used: number } | null;
  /** Memory available without swapping, and within a container's limits. */
  memoryAvailableBytes: number;
  /** Source of the lower limit. */
  memoryLimitedBy: 'machine' | 'container';
  /** Limit of all TCP buffers together: the last value of `net.ipv4.tcp_mem`. */
  tcpMemoryBytes: number;
  /** Cores that a run may use; a fraction if a CPU quota is lower. */
  cores: number;
  /** CPU quota in cores; null without a quota. */
  cpuQuota: number | null;
  /** True if this process, and so its children, have real-time priority. */
  isRealTime: boolean;
  /** Threads in which Artillery runs virtual users. */
  artilleryWorkers: number;
  /** True if all of 127.0.0.0/8 is usable, as on Linux. */
  manyLoopbackAddresses: boolean;
  /** Programs of the stack that are not installed. */
  missing: Program[];
}

/** IANA's range, which macOS uses. */
const IANA_PORTS = { first: 49_152, last: 65_535 };
const PAGE_BYTES = 4096;
const TOOLS: Tool[] = ['nginx', 'redis-server'];

export async function readMachine(): Promise<Machine> {
  const [first, last] = sysctl('net/ipv4/ip_local_port_range');
  const [, , tcpPages] = sysctl('net/ipv4/tcp_mem');
  const [used] = sysctl('fs/file-nr');
  const { manyLoopbackAddresses, conntrack } = await tryLoopback();
  const cgroup = readCgroup();
  const memory = availableMemory(cgroup);
  const cpuQuota = lowestQuota(cgroup) ?? null;
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
    isRealTime: isRealTime(),
    // The formula of Artillery 2.0.34.
    artilleryWorkers: Math.max(1, cpus().length - 1),
    manyLoopbackAddresses,
    missing: [...TOOLS.filter((tool) => findTool(tool) === undefined), ...(hasPm2() ? [] : ['pm2' as const])],
  };
}

/**
 * Opens a connection from 127.0.0.2 to 127.0.0.1, which shows whether that address is usable and whether the kernel tracks
 * connections: even with the module loaded, it tracks none unless a rule needs it.
 */
async function tryLoopback(): Promise<Pick<Machine, 'manyLoopbackAddresses' | 'conntrack'>> {
  const server = createServer();
  const listening = once(server, 'listening').catch(() => undefined);
  server.listen(0, '127.0.0.1');
  // In a network namespace whose loopback interface is down, nothing can listen here. Code that needs the address reports the error.
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

/** Must be called while a connection is open: a count of 0 then means that none is tracked. */
function readConntrack(): Machine['conntrack'] {
  const [max] = sysctl('net/netfilter/nf_conntrack_max');
  const [used] = sysctl('net/netfilter/nf_conntrack_count');
  return max && used ? { max, used } : null;
}

/** Reads the scheduling policy, the 41st field: SCHED_FIFO is 1, SCHED_RR is 2. */
function isRealTime(): boolean {
  const stat = attempt(() => readFileSync('/proc/self/stat', 'latin1')) ?? '';
  return ['1', '2'].includes(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[38] ?? '');
}

/** Returns the numbers of a kernel setting; empty if it does not exist. */
function sysctl(name: string): number[] {
  const text = attempt(() => readFileSync(`/proc/sys/${name}`, 'utf8'));
  return text?.trim().split(/\s+/).map(Number) ?? [];
}

/** Returns `2 cores`, or `0.5 cores (CPU quota of the container)`. */
export function coresText(machine: Cores): string {
  const cores = `${decimals(machine.cores, Number.isInteger(machine.cores) ? 0 : 2)} cores`;
  return isQuota(machine) ? `${cores} (CPU quota of the container)` : cores;
}

/** Returns the needed resource, for fixes such as "or 4 cores". */
export function coresNeeded(machine: Cores, cores: number): string {
  return isQuota(machine) ? `a CPU quota of ${Math.ceil(cores)} cores` : `${Math.ceil(cores)} cores`;
}

type Cores = Pick<Machine, 'cores' | 'cpuQuota'>;

function isQuota({ cores, cpuQuota }: Cores): boolean {
  return cpuQuota !== null && cpuQuota <= cores;
}
