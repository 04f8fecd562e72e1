/** Where a process runs. Comparing those of generator and workers shows what they share. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Host } from '../control-replies.ts';

export function thisHost(): Host {
  return {
    kernel: tryTo(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()) ?? hostname(),
    pidNamespace: tryTo(() => readlinkSync('/proc/self/ns/pid')) ?? '',
  };
}

/** Linux only. */
function tryTo(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
