/** What the machine has to allow before anything is started. */
import { readFileSync } from 'node:fs';
import { CapacityError } from '../../protocol/errors.ts';

/** Below this, Artillery, the fleet's processes and the stack do not even start properly. */
const MIN_OPEN_FILES = 512;

/** @throws CapacityError TOO_FEW_FILES */
export function requireOpenFiles(limit = openFilesLimit()): void {
  if (limit >= MIN_OPEN_FILES) return;
  throw new CapacityError(
    'TOO_FEW_FILES',
    `a process may open only ${limit} files here; a run needs at least ${MIN_OPEN_FILES}`,
    'raise the limit (ulimit -n 65536; as root, or in /etc/security/limits.conf)',
  );
}

/** The hard limit: Node raises the soft one to it. Without bound where the system does not tell. */
function openFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return Number(/Max open files\s+\S+\s+(\d+)/.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
