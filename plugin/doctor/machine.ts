/** The limits of this machine, read once before a run. A value that cannot be read counts as no limit. */
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { cpus } from 'node:os';
import { readCgroup } from '../../protocol/machine/cgroup.ts';
import { openFileLimits } from '../../protocol/machine/open-files.ts';
import { allowedCpus, availableMemory, lowestQuota } from '../../protocol/machine/usable.ts';
import { hasPm2 } from '../../server/stack/pm2.ts';
import { findTool, type Tool } from '../../server/stack/tools.ts';

/** What a run starts and npm may not have installed. */
export type Program = Tool | 'pm2';

export interface Machine {
  /** Open files of one process. Node raises its soft limit to the hard one, which its children inherit. */
  openFiles: { soft: number; hard: number /** `fs.nr_open`: how high root can set the hard limit. */; ceiling: number };
  /** Open files of all processes: `fs.file-max`, and the number open now. */
  systemFiles: { max: number; used: number };
  /** Range from which the kernel chooses ports for outgoing connections. */
  ephemeralPorts: { first: number; last: number };
  /** `net.ipv4.tcp_tw_reuse`: connections for which a port in TIME_WAIT can be taken after one second. */
  timeWaitReuse: 'none' | 'all' | 'loopback';
  /** `net.core.somaxconn`: longest accept queue. */
  somaxconn: number;
  /** `net.ipv4.tcp_max_syn_backlog`; infinite if SYN cookies are on. */
  synBacklog: number;
  /** Null if the kernel does not track connections here. */
  conntrack: { max: number; used: number } | null;
  /** Without swapping, and within a container's limits. */
  memoryAvailableBytes: number;
  /** Whose limit decides what is available. */
  memoryLimitedBy: 'machine' | 'container';
  /** Processes and threads of the container: its limit (`pids.max`), and those that run now; null without a limit. */
  tasks: { max: number; used: number } | null;
  /** Of all TCP buffers together: the last value of `net.ipv4.tcp_mem`. */
  tcpMemoryBytes: number;
  /** Those that a run may use: a quota of CPU time counts as so many, and can be a fraction. */
  cores: number;
  /** In cores; null without any. */
  cpuQuota: number | null;
  /** Threads in which Artillery runs virtual users. */
  artilleryWorkers: number;
  /** Whether all of 127.0.0.0/8 is usable, as on Linux. */
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
  // The one with the least left.
  const [tasks = null] = cgroup.tasks.sort((a, b) => a.max - a.used - (b.max - b.used));
  return {
    openFiles: { ...openFileLimits(), ceiling: orNoLimit(sysctl('fs/nr_open')[0]) },
    systemFiles: { max: orNoLimit(sysctl('fs/file-max')[0]), used: used ?? 0 },
    ephemeralPorts: first !== undefined && last !== undefined ? { first, last } : IANA_PORTS,
    timeWaitReuse: (['none', 'all', 'loopback'] as const)[sysctl('net/ipv4/tcp_tw_reuse')[0] ?? 0] ?? 'none',
    somaxconn: orNoLimit(sysctl('net/core/somaxconn')[0]),
    synBacklog:
      sysctl('net/ipv4/tcp_syncookies')[0] === 0
        ? orNoLimit(sysctl('net/ipv4/tcp_max_syn_backlog')[0])
        : Number.POSITIVE_INFINITY,
    conntrack,
    memoryAvailableBytes: memory.bytes,
    memoryLimitedBy: memory.limitedBy,
    tasks,
    tcpMemoryBytes: orNoLimit(tcpPages) * PAGE_BYTES,
    cores: Math.min(allowedCpus().length, cpuQuota ?? Number.POSITIVE_INFINITY),
    cpuQuota,
    // As Artillery 2.0.34 counts them.
    artilleryWorkers: Math.max(1, cpus().length - 1),
    manyLoopbackAddresses,
    missing: [...TOOLS.filter((tool) => findTool(tool) === undefined), ...(hasPm2() ? [] : ['pm2' as const])],
  };
}

/**
 * One connection from 127.0.0.2 to 127.0.0.1 shows two things: whether that address exists, and whether the kernel tracks
 * connections, since with the module loaded but no rule that needs it, it tracks none.
 */
async function tryLoopback(): Promise<Pick<Machine, 'manyLoopbackAddresses' | 'conntrack'>> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const from = (localAddress: string) =>
    new Promise<Socket | undefined>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port, localAddress });
      socket.once('connect', () => resolve(socket));
      socket.once('error', () => resolve(undefined));
    });
  const second = await from('127.0.0.2');
  const socket = second ?? (await from('127.0.0.1'));
  const conntrack = readConntrack();
  socket?.destroy();
  server.close();
  return { manyLoopbackAddresses: second !== undefined, conntrack };
}

/** Called while a connection is open, so a count of 0 means that none is tracked. */
function readConntrack(): Machine['conntrack'] {
  const [max] = sysctl('net/netfilter/nf_conntrack_max');
  const [used] = sysctl('net/netfilter/nf_conntrack_count');
  return max && used ? { max, used } : null;
}

function sysctl(name: string): number[] {
  return numbers(readText(`/proc/sys/${name}`));
}

/** `unlimited` is read as infinity. */
function numbers(text: string | undefined): number[] {
  if (text === undefined) return [];
  return text
    .trim()
    .split(/\s+/)
    .map((text) => (text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text)));
}

function orNoLimit(value: number | undefined): number {
  return value ?? Number.POSITIVE_INFINITY;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
