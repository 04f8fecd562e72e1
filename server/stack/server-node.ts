/** Finds the Node that runs the workers: the Node of this process, or the version in `SERVER_NODE`. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';

export const serverNodeEnvironmentSchema = z.object({
  SERVER_NODE: z
    .string()
    .regex(/^\d+\.\d+\.\d+$/, 'must be a version such as 22.22.2')
    .optional()
    .describe('Node of the stack’s workers: a version that npm has installed, 22.18 or newer'),
});

/**
 * Searches `CAPACITY_MODULES`, then the working directory.
 * @returns path of the executable
 * @throws CapacityError NOT_INSTALLED, CONFIG_INVALID
 */
export function findServerNode(environment: NodeJS.ProcessEnv = process.env): string {
  const { SERVER_NODE, CAPACITY_MODULES } = environment;
  if (!SERVER_NODE || SERVER_NODE === process.versions.node) return process.execPath;
  const { error } = serverNodeEnvironmentSchema.shape.SERVER_NODE.safeParse(SERVER_NODE);
  if (error) {
    const message = `SERVER_NODE=${SERVER_NODE} ${error.issues[0]?.message}`;
    throw new CapacityError('CONFIG_INVALID', message, 'correct the variable');
  }
  const folders = [...(CAPACITY_MODULES ? [resolve(CAPACITY_MODULES, 'node_modules')] : []), resolve('node_modules')];
  const found = folders.map((folder) => join(folder, 'node')).find((path) => versionOf(path) === SERVER_NODE);
  if (found) return join(found, 'bin/node');
  const folder = CAPACITY_MODULES || 'server-modules';
  throw new CapacityError(
    'NOT_INSTALLED',
    `SERVER_NODE=${SERVER_NODE}: this Node version for the workers is not installed`,
    `npm install --prefix ${folder} node@${SERVER_NODE}, and set CAPACITY_MODULES=${folder}`,
  );
}

function versionOf(path: string): string | undefined {
  return tryOrUndefined(() => JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')).version);
}
