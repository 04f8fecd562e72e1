/**
 * What the Linux kernel says of the whole machine: TCP, slab memory, free memory, CPU. Each part is read on its own,
 * so that a file that is missing or closed to us (slabinfo is for root) costs only its own figures.
 */
import { readFileSync } from 'node:fs';
import { PAGE_SIZE_BYTES, TICK_US } from './auxv.ts';

export interface TcpReading {
  inUse: number;
  orphan: number;
  timeWait: number;
  allocated: number;
  /** Socket buffers, in whole pages. */
  memoryBytes: number;
  inUse6: number;
}
export interface MemoryReading {
  totalBytes: number;
  availableBytes: number;
  /**
   * Neither free nor file cache. MemAvailable also counts what the kernel calls reclaimable as available, though the
   * inodes of live sockets, which are among it, cannot be reclaimed.
   */
  heldBytes: number;
  pageTablesBytes: number;
  swapFreeBytes: number;
}
/** Of all cores, since boot. */
export interface CpuReading {
  /** User, system and interrupts, and what the hypervisor took. */
  busyUs: number;
  idleUs: number;
}

/** Since boot. */
export interface SwapReading {
  inBytes: number;
  outBytes: number;
}

interface KernelParts {
  tcp: TcpReading;
  /** Memory of the slab caches that sockets live in. The dearest to read: the kernel counts while it tells. */
  slabBytes: number;
  memory: MemoryReading;
  cpu: CpuReading;
}
type KernelPart = keyof KernelParts;

/** `absent`: why a part is missing. */
export type KernelReading = Partial<KernelParts> & { absent: Partial<Record<KernelPart, string>> };

const READERS: { [Part in KernelPart]: () => KernelParts[Part] } = {
  tcp: () => parseSockstat(proc('net/sockstat'), procIfThere('net/sockstat6')),
  slabBytes: () => parseSlabinfo(proc('slabinfo')),
  memory: () => parseMeminfo(proc('meminfo')),
  cpu: () => parseCpu(proc('stat')),
};
const ALL_PARTS = Object.keys(READERS) as KernelPart[];

/** @returns undefined where the kernel does not tell */
export function readSwap(): SwapReading | undefined {
  try {
    return parseVmstat(proc('vmstat'));
  } catch {
    return undefined;
  }
}

/** @returns what can be read now of the parts asked for, in well under a millisecond; never throws */
export function readKernel(parts: KernelPart[] = ALL_PARTS): KernelReading {
  const reading: KernelReading = { absent: {} };
  for (const part of parts) {
    try {
      Object.assign(reading, { [part]: READERS[part]() });
    } catch (error) {
      reading.absent[part] = explain(error);
    }
  }
  return reading;
}

export function parseSockstat(sockstat: string, sockstat6: string): TcpReading {
  const tcp = words(line(sockstat, /^TCP: (.*)$/m, '/proc/net/sockstat has no TCP line'));
  const tcp6 = words(/^TCP6: (.*)$/m.exec(sockstat6)?.[1] ?? '');
  return {
    inUse: tcp.get('inuse') ?? 0,
    orphan: tcp.get('orphan') ?? 0,
    timeWait: tcp.get('tw') ?? 0,
    allocated: tcp.get('alloc') ?? 0,
    memoryBytes: (tcp.get('mem') ?? 0) * PAGE_SIZE_BYTES,
    inUse6: tcp6.get('inuse') ?? 0,
  };
}

/** Caches that grow with TCP connections. `dentry` is left out: a walk of the file system moves it more than sockets. */
const SOCKET_CACHES =
  /^(TCP|TCPv6|MPTCP|MPTCPv6|tw_sock_.*|request_sock_.*|sock_inode_cache|skbuff_.*|eventpoll_.*|filp)$/;

/** Counts whole slabs: what the kernel has taken, also for objects that are free again. */
export function parseSlabinfo(text: string): number {
  let pages = 0;
  for (const row of text.split('\n')) {
    const fields = row.split(/\s+/);
    if (!SOCKET_CACHES.test(fields[0] ?? '')) continue;
    pages += Number(fields[5]) * Number(fields[14]);
  }
  if (pages === 0) throw new Error('/proc/slabinfo names no socket caches');
  return pages * PAGE_SIZE_BYTES;
}

export function parseMeminfo(text: string): MemoryReading {
  const bytes = (key: string) =>
    Number(line(text, new RegExp(`^${key}:\\s+(\\d+) kB$`, 'm'), `/proc/meminfo has no ${key}`)) * 1024;
  return {
    totalBytes: bytes('MemTotal'),
    availableBytes: bytes('MemAvailable'),
    heldBytes: bytes('MemTotal') - bytes('MemFree') - bytes('Buffers') - bytes('Cached'),
    pageTablesBytes: bytes('PageTables'),
    swapFreeBytes: bytes('SwapFree'),
  };
}

/** Pages of compressed swap in memory (zswap) count like those on a disk: either way a process waited for them. */
export function parseVmstat(text: string): SwapReading {
  const bytes = (direction: 'in' | 'out') => {
    line(text, new RegExp(`^(pswp${direction}) `, 'm'), `/proc/vmstat has no pswp${direction}`);
    const pages = [...text.matchAll(new RegExp(`^[pz]swp${direction} (\\d+)$`, 'gm'))].map((match) => Number(match[1]));
    return pages.reduce((sum, count) => sum + count, 0) * PAGE_SIZE_BYTES;
  };
  return { inBytes: bytes('in'), outBytes: bytes('out') };
}

export function parseCpu(text: string): CpuReading {
  const ticks = line(text, /^cpu +(.*)$/m, '/proc/stat has no cpu line')
    .split(' ')
    .map(Number);
  // user nice system idle iowait irq softirq steal; the guest figures behind them are already part of user.
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] = ticks;
  return { busyUs: (user + nice + system + irq + softirq + steal) * TICK_US, idleUs: (idle + iowait) * TICK_US };
}

/** `inuse 1 orphan 0` as a map. */
function words(text: string): Map<string, number> {
  const fields = text.trim().split(/\s+/);
  return new Map(
    Array.from({ length: fields.length >> 1 }, (_, i) => [fields[i * 2] ?? '', Number(fields[i * 2 + 1])]),
  );
}

function line(text: string, pattern: RegExp, otherwise: string): string {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(otherwise);
  return found;
}

function proc(name: string): string {
  return readFileSync(`/proc/${name}`, 'latin1');
}

/** Without IPv6 the file does not exist, and there are no such sockets. */
function procIfThere(name: string): string {
  try {
    return proc(name);
  } catch {
    return '';
  }
}

function explain(error: unknown): string {
  if (process.platform !== 'linux') return 'only Linux tells';
  const { code, path, message } = error as NodeJS.ErrnoException;
  if (code === 'EACCES' || code === 'EPERM') return `${path} is readable by root only`;
  return code === 'ENOENT' ? `${path} does not exist on this system` : message;
}
