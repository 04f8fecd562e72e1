/** Reads the limits and the use of a worker's resources, and its machine. Takes some milliseconds, so it is requested rarely. */
import * as files from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { attempt } from '../../protocol/base/attempt.ts';
import { readCgroup } from '../../protocol/base/machine/cgroup.ts';
import { parseSmapsRollup, readCpu, readMemory, readTcpBytes } from '../../protocol/base/machine/kernel.ts';
import { allocatedBytes } from '../../protocol/base/machine/malloc-heap.ts';
import { openFileLimits } from '../../protocol/base/machine/open-files.ts';
import { thisHost, thisMachine } from '../../protocol/base/machine/this-host.ts';
import { usableCores } from '../../protocol/base/machine/usable.ts';
import type { WorkerMachine, WorkerResources } from '../../protocol/wire/events.ts';

/** Values that the system does not provide (any but Linux) are left out. */
export async function readResources(worker: string): Promise<WorkerResources> {
  const [rollup, open] = await Promise.all([
    readFile('/proc/self/smaps_rollup', 'latin1').catch(() => ''),
    readdir('/proc/self/fd').catch(() => undefined),
  ]);
  const { soft } = openFileLimits();
  return {
    worker,
    pssBytes: parseSmapsRollup(rollup)?.pssBytes,
    mallocBytes: attempt(() => allocatedBytes(files)),
    // Without the descriptor of the folder being read.
    openFiles: open && open.length - 1,
    openFilesLimit: Number.isFinite(soft) ? soft : null,
    cgroup: readCgroup(),
    usableCores: usableCores(),
    machine: machine(),
  };
}

function machine(): WorkerMachine {
  return {
    hostname: hostname(),
    kernel: thisHost().kernel,
    ...thisMachine(),
    usedBytes: attempt(() => readMemory().usedBytes),
    tcpBytes: attempt(readTcpBytes),
    cpu: attempt(readCpu),
  };
}
