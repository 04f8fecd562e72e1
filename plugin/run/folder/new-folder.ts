import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../../protocol/base/make-folder.ts';

/** Creates a new folder: `name`, or `name-2`, `name-3`, … if that exists. @returns its path */
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
