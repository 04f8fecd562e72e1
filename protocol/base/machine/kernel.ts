/**
 * Reads figures of the machine and its processes from the Linux kernel: TCP, slab memory, free memory, CPU, swap. Each
 * file is read separately in well under a millisecond. A missing or unreadable file affects only its own figures;
 * slabinfo, for example, requires root.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CpuReading } from '../../wire/control-replies.ts';
import { sumCounts } from '../sum-counts.ts';
import { tryOrUndefined } from '../try-or-undefined.ts';

type MemoryReading = ReturnType<typeof parseMeminfo>;

/**
 * Returns the bytes of all socket buffers, counted in whole memory pages.
 * @throws Error with the reason if the kernel does not report them
 */
export function readTcpBytes(): number {
  return parseSockstat(proc('net/sockstat'));
}

/** Returns the number of TCP sockets in this network namespace. Excludes sockets in TIME_WAIT. */
export function readTcpSockets(): number {
  return Number(line(proc('net/sockstat'), /^TCP: .*\balloc (\d+)/m, NO_TCP));
}

/**
 * Returns the bytes of the slab caches for sockets. This is the slowest reading, because the kernel counts the objects
 * each time.
 */
export function readSlabBytes(): number {
  return parseSlabinfo(proc('slabinfo'));
}

export function readMemory(): MemoryReading {
  return parseMeminfo(proc('meminfo'));
}

/**
 * @param cpus CPUs to add up; default: all CPUs
 * @param root root of the file system, for tests
 */
export function readCpu(cpus?: number[], root = '/'): CpuReading {
  const stat = proc('stat', root);
  return cpus ? (sumCounts(cpus.map((cpu) => parseCpu(stat, `cpu${cpu}`))) as CpuReading) : parseCpu(stat);
}

export type PressureReading = NonNullable<ReturnType<typeof readPressure>>;

/**
 * Returns the time since boot during which at least one process waited for CPU, memory or disk (PSI). Undefined if the
 * kernel does not report it.
 */
export function readPressure(root = '/') {
  const us = (what: string) =>
    Number(line(proc(`pressure/${what}`, root), /^some .*\btotal=(\d+)$/m, `/proc/pressure/${what} has no total`));
  return tryOrUndefined(() => ({ cpuUs: us('cpu'), memoryUs: us('memory'), ioUs: us('io') }));
}

export type SwapReading = ReturnType<typeof parseVmstat>;

/** Returns the bytes swapped since boot. Undefined if the kernel does not report them. */
export function readSwap(): SwapReading | undefined {
  return tryOrUndefined(() => parseVmstat(proc('vmstat')));
}

const NO_TCP = '/proc/net/sockstat has no TCP line';

/** Parses the bytes of TCP buffers, which include IPv6 sockets. */
export function parseSockstat(text: string): number {
  return Number(line(text, /^TCP: .*\bmem (\d+)/m, NO_TCP)) * PAGE_SIZE_BYTES;
}

/**
 * Names of slab caches with one object for each open TCP socket. Other caches are unsuitable: `tw_sock_TCP` keeps
 * closed connections for a minute, `eventpoll_epi` and others share slabs with caches of the same size, and `dentry`
 * depends on the file system.
 */
const SOCKET_CACHES = /^(TCP|TCPv6|MPTCP|MPTCPv6|sock_inode_cache|filp)$/;

/** Parses the bytes of whole slabs, including free objects, because the kernel has allocated whole slabs. */
export function parseSlabinfo(text: string): number {
  let pages = 0;
  for (const row of text.split('\n')) {
    const fields = row.split(/\s+/);
    if (!SOCKET_CACHES.test(fields[0] ?? '')) continue;
    pages += Number(fields[5]) * Number(fields[14]);
  }
  if (pages === 0) throw new Error('/proc/slabinfo has no socket caches');
  return pages * PAGE_SIZE_BYTES;
}

export function parseMeminfo(text: string) {
  const bytes = (key: string) =>
    Number(line(text, new RegExp(`^${key}:\\s+(\\d+) kB$`, 'm'), `/proc/meminfo has no ${key}`)) * 1024;
  return {
    /** Memory that is neither free nor in a cache that the kernel can drop. */
    usedBytes: bytes('MemTotal') - bytes('MemAvailable'),
    /**
     * Memory that is neither free nor file cache. MemAvailable is unsuitable here, because it counts the inodes of open
     * sockets as available. Shared memory is added, because the kernel counts it as file cache but cannot drop it.
     */
    heldBytes: bytes('MemTotal') - bytes('MemFree') - bytes('Buffers') - bytes('Cached') + bytes('Shmem'),
    /** Memory of programs, without shared memory and copies of files. */
    anonymousBytes: bytes('AnonPages'),
    /** Files in memory (/dev/shm, tmpfs), System V shared memory, memfd, and shared anonymous mappings. */
    sharedBytes: bytes('Shmem'),
    /** Kernel memory that cannot be reclaimed, without page tables and TCP buffers, which are separate figures. */
    get kernelBytes() {
      return bytes('SUnreclaim') + bytes('KernelStack');
    },
    pageTablesBytes: bytes('PageTables'),
  };
}

/**
 * Parses the swapped bytes. Swap that is compressed in memory (zswap) counts like swap on a disk, because processes
 * wait for the pages in both cases.
 */
export function parseVmstat(text: string) {
  const bytes = (direction: 'in' | 'out') => {
    line(text, new RegExp(`^(pswp${direction}) `, 'm'), `/proc/vmstat has no pswp${direction}`);
    const pages = [...text.matchAll(new RegExp(`^[pz]swp${direction} (\\d+)$`, 'gm'))].map((match) => Number(match[1]));
    return pages.reduce((sum, count) => sum + count, 0) * PAGE_SIZE_BYTES;
  };
  return { inBytes: bytes('in'), outBytes: bytes('out') };
}

/** @param name `cpu` for the sum over all CPUs, `cpu0` for the first CPU */
export function parseCpu(text: string, name = 'cpu'): CpuReading {
  const ticks = line(text, new RegExp(`^${name} +(.*)$`, 'm'), `/proc/stat has no ${name} line`)
    .split(' ')
    .map(Number);
  // Order of the fields: user nice system idle iowait irq softirq steal. The guest times that follow are ignored,
  // because
  // `user` already includes them.
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] = ticks;
  return {
    busyUs: (user + nice + system + irq + softirq + steal) * CLOCK_TICK_US,
    idleUs: (idle + iowait) * CLOCK_TICK_US,
    stealUs: steal * CLOCK_TICK_US,
    interruptUs: (irq + softirq) * CLOCK_TICK_US,
  };
}

export interface SmapsRollup {
  /** Resident memory of the process, exact. The value in /proc/<pid>/stat lags by some pages per CPU. */
  rssBytes: number;
  pssBytes: number;
  /** The part of PSS that is not backed by files. Available since Linux 5.4. */
  anonymousBytes?: number;
  sharedBytes?: number;
}

export function parseSmapsRollup(text: string): SmapsRollup | undefined {
  const bytes = (key: string) => {
    const kilobytes = new RegExp(`^${key}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  };
  const [rssBytes, pssBytes] = [bytes('Rss'), bytes('Pss')];
  if (rssBytes === undefined || pssBytes === undefined) return undefined;
  const [anonymousBytes, sharedBytes] = [bytes('Pss_Anon'), bytes('Pss_Shmem')];
  const hasParts = anonymousBytes !== undefined && sharedBytes !== undefined;
  return { rssBytes, pssBytes, ...(hasParts && { anonymousBytes, sharedBytes }) };
}

function line(text: string, pattern: RegExp, otherwise: string): string {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(otherwise);
  return found;
}

function proc(name: string, root = '/'): string {
  try {
    return readFileSync(join(root, 'proc', name), 'utf8');
  } catch (error) {
    throw new Error(explain(error as NodeJS.ErrnoException));
  }
}

function explain({ code, path, message }: NodeJS.ErrnoException): string {
  if (process.platform !== 'linux') return 'available on Linux only';
  if (code === 'EACCES' || code === 'EPERM') return `${path} is readable only by root`;
  return code === 'ENOENT' ? `${path} does not exist on this system` : message;
}

/**
 * Page size and clock tick of the kernel, which Node does not expose. They are read from the auxiliary vector of the
 * process: pairs of type and value, each a machine word. Only 64-bit little-endian words are supported; other machines
 * get the values of x86-64.
 */
const AT_PAGESZ = 6n;
const AT_CLKTCK = 17n;

const vector = readAuxiliaryVector();

/** Size of a memory page in bytes. It is 16 or 64 KiB on some ARM machines. */
export const PAGE_SIZE_BYTES = Number(vector.get(AT_PAGESZ) ?? 4096n);

/** Microseconds of one clock tick, the unit of CPU times in /proc. */
export const CLOCK_TICK_US = 1_000_000 / Number(vector.get(AT_CLKTCK) ?? 100n);

function readAuxiliaryVector(): Map<bigint, bigint> {
  const bytes = tryOrUndefined(() => readFileSync('/proc/self/auxv')) ?? Buffer.alloc(0);
  const words = new BigUint64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  return new Map(Array.from({ length: words.length / 2 }, (_, i) => [words[i * 2] ?? 0n, words[i * 2 + 1] ?? 0n]));
}
