/**
 * Folder with the state, logs and sockets of a stack. Write access to the folder makes it possible to choose which
 * processes are killed and which addresses are measured. Its files are therefore read only if the folder belongs to
 * this user and no other user can write to it.
 */
import { lstatSync, type Stats } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '../../../protocol/base/make-folder.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { requireDiskSpace, unwritableError } from '../../../protocol/base/unwritable.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';

/** Subfolders that a stack creates. Other files are never changed, except the state file. */
export const STATE_FOLDERS = ['pm2', 'nginx', 'redis', 'logs'] as const;

/** Disk space that must be free for the files of PM2, nginx and Redis, and the start of their logs. */
const ROOM_BYTES = 2 ** 20;
const WRITABLE_BY_OTHERS = 0o022;
/**
 * Maximum length of a Unix socket's path. The system's limit is 104 bytes on macOS and 108 on Linux, including the
 * terminating zero byte.
 */
const SOCKET_PATH_MAX_BYTES = 103;

export const stateDirEnvironmentSchema = z.object({
  SOCKETIO_CAPACITY_HOME: z
    .string()
    .optional()
    .describe('folder of the stack’s state and logs; default: `~/.local/state/socketio-capacity`'),
});

/**
 * Returns the absolute path of the default folder. It is never in a shared folder such as /tmp, where another user
 * could create it first.
 */
export function defaultStateDir(environment: NodeJS.ProcessEnv = process.env): string {
  const { SOCKETIO_CAPACITY_HOME } = stateDirEnvironmentSchema.parse(environment);
  // `resolve` removes a trailing slash. Otherwise, lstat would follow a symbolic link.
  return resolve(SOCKETIO_CAPACITY_HOME || join(homedir(), '.local/state/socketio-capacity'));
}

/**
 * Returns whether the folder exists and is safe.
 * @throws CapacityError `STATE_DIR_UNUSABLE` if another user could have written to it
 */
export function isTrustedStateDir(stateDir: string): boolean {
  // `lstat` does not follow symbolic links.
  const stat = tryOrUndefined(() => lstatSync(resolve(stateDir)));
  const problem = stat && whyUnsafe(stat);
  if (!problem) return stat !== undefined;
  throw new CapacityError(
    'STATE_DIR_UNUSABLE',
    `The state folder ${stateDir} ${problem}. Nothing in it was read.`,
    'Remove the folder (a stack creates it again), or choose another one: SOCKETIO_CAPACITY_HOME=/path/to/folder',
  );
}

/**
 * Creates the folder and its subfolders. Only this user can read them.
 * @throws CapacityError `STATE_DIR_UNUSABLE`
 */
export function prepareStateDir(stateDir: string): void {
  // Checks the longest path of PM2's sockets.
  if (Buffer.byteLength(join(stateDir, 'pm2', 'interactor.sock')) > SOCKET_PATH_MAX_BYTES) {
    throw new CapacityError('STATE_DIR_UNUSABLE', `The state folder's path is too long for PM2's sockets: ${stateDir}`);
  }
  for (const folder of [stateDir, ...STATE_FOLDERS.map((name) => join(stateDir, name))]) {
    if (isTrustedStateDir(folder)) continue;
    try {
      makeFolder(folder, 0o700);
    } catch (cause) {
      throw stateUnwritableError(folder, cause, 'cannot be created');
    }
    isTrustedStateDir(folder);
  }
  try {
    requireDiskSpace(stateDir, ROOM_BYTES);
  } catch (cause) {
    throw stateUnwritableError(stateDir, cause);
  }
}

export function stateUnwritableError(folder: string, cause: unknown, what = 'cannot be written to'): CapacityError {
  const elsewhere = 'choose a folder that you can write to: SOCKETIO_CAPACITY_HOME=/path/to/folder';
  const message = `The state folder ${folder} ${what}.`;
  return unwritableError(join(folder, 'file'), cause, elsewhere, message, 'STATE_DIR_UNUSABLE');
}

function whyUnsafe(stat: Stats): string | undefined {
  if (stat.isSymbolicLink()) return 'is a symbolic link';
  if (!stat.isDirectory()) return 'is not a folder';
  if (stat.uid !== process.getuid?.()) return `belongs to another user (uid ${stat.uid})`;
  if (stat.mode & WRITABLE_BY_OTHERS) {
    return `can be written to by other users (mode ${(stat.mode & 0o777).toString(8)})`;
  }
  return undefined;
}
