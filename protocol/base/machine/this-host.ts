/** Identifies the host of this process. A comparison with the workers' hosts shows which resources they share. */
import { readFileSync, readlinkSync } from 'node:fs';
import { cpus, hostname, release, totalmem, type } from 'node:os';
import type { HostInfo } from '../../wire/control-replies.ts';
import { tryOrUndefined } from '../try-or-undefined.ts';

export function thisHost(): HostInfo {
  return {
    kernel: tryOrUndefined(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()) ?? hostname(),
    pidNamespace: tryOrUndefined(() => readlinkSync('/proc/self/ns/pid')) ?? '',
  };
}

/** Returns whether process ids of that host are process ids of this process's host. */
export function isThisHost({ kernel, pidNamespace }: HostInfo): boolean {
  const here = thisHost();
  return kernel === here.kernel && pidNamespace === here.pidNamespace;
}

export interface MachineKind {
  model: string;
  /** Kernel with its release, such as `Linux 6.18.44`. */
  system: string;
  cores: number;
  memoryBytes: number;
}

/** Describes the hardware of the whole machine. Limits of a container are ignored. */
export function thisMachine(): MachineKind {
  return {
    model: cpus()[0]?.model.trim() || 'unknown CPU',
    system: `${type()} ${release()}`,
    cores: cpus().length,
    memoryBytes: totalmem(),
  };
}
