/** Finds nginx and redis-server. npm cannot install them. */
import { accessSync, constants } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { CapacityError } from '../../protocol/codes/errors.ts';

/** Programs that a full stack needs. On Debian and Ubuntu, package, program and service have the same name. */
export const STACK_TOOLS = ['nginx', 'redis-server'] as const;
export type StackTool = (typeof STACK_TOOLS)[number];

/** Returns the folders of PATH, and folders with servers that a user's PATH often lacks. */
export function toolSearchDirs(): string[] {
  return [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin'];
}

/** Returns the absolute path of the program; undefined if no folder contains it. */
export function findTool(name: string, dirs = toolSearchDirs()): string | undefined {
  return dirs
    .filter(Boolean)
    .map((dir) => resolve(dir, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** @throws CapacityError `NOT_INSTALLED` */
export function requireTool(tool: StackTool | 'redis-cli', dirs = toolSearchDirs()): string {
  const path = findTool(tool, dirs);
  if (path) return path;
  const debianPackage = tool === 'redis-cli' ? 'redis-tools' : tool;
  throw new CapacityError(
    'NOT_INSTALLED',
    `${tool} is not installed.`,
    `Install it (npm run setup, or: apt-get install ${debianPackage}), or use the embedded profile: one worker, no nginx and no Redis`,
  );
}
