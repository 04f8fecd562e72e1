/** What the machine must allow before anything is started. */
import { CapacityError } from '../../protocol/errors.ts';
import { openFileLimits } from '../../protocol/machine/open-files.ts';

/** With fewer, Artillery, the fleet's processes and the stack do not start. */
const MIN_OPEN_FILES = 512;

/** @throws CapacityError LIMIT_TOO_LOW */
export function requireOpenFiles(limit = openFileLimits().hard): void {
  if (limit >= MIN_OPEN_FILES) return;
  throw new CapacityError(
    'LIMIT_TOO_LOW',
    `a process can open only ${limit} files here, but a run needs at least ${MIN_OPEN_FILES}`,
    'raise the limit: ulimit -n 20000',
  );
}
