import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../../protocol/base/make-folder.ts';

/**
 * Makes a folder that nobody else has: `name`, or with `-2`, `-3`, … where there is one already.
 * @returns its path
 */
export function newFolder(parent: string, name: string): string {
  makeFolder(parent);
  for (let count = 1; ; count++) {
    const path = join(parent, count === 1 ? name : `${name}-${count}`);
    try {
      mkdirSync(path);
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
