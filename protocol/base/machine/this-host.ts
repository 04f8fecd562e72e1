/** Identifies the host of this process. Comparing it with the workers' hosts shows what they share. */
import { readFileSync, readlinkSync } from 'node:fs';
import { cpus, hostname, release, totalmem, type } from 'node:os';
import type { Host } from '../../wire/control-replies.ts';
import { attempt } from '../attempt.ts';

export function thisHost(): Host {
  return {
    kernel: attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()) ?? hostname(),
    pidNamespace: attempt(() => readlinkSync('/proc/self/ns/pid')) ?? '',
  };
}

export interface MachineKind {
  /** Model name of the CPU. */
  model: string;
  /** Kernel with its release: `Linux 6.18.44`. */
  system: string;
  cores: number;
  memoryBytes: number;
}

/** Returns the whole machine, regardless of a container's limits. */
export function thisMachine(): MachineKind {
  return {
    model: cpus()[0]?.model.trim() || 'unknown CPU',
    system: `${type()} ${release()}`,
    cores: cpus().length,
    memoryBytes: totalmem(),
  };
}
