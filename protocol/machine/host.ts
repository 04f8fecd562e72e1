/** Where a process runs. Comparing those of generator and workers shows what they share. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Host } from '../control-replies.ts';
import { attempt } from '../helpers/attempt.ts';

export function thisHost(): Host {
  return {
    kernel: attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()) ?? hostname(),
    pidNamespace: attempt(() => readlinkSync('/proc/self/ns/pid')) ?? '',
  };
}
