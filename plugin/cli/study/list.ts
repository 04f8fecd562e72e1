/** The studies that come with the pack. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { titleOf } from './study-file.ts';

/** @returns paths from the working directory, each with its first comment line */
export function listStudies(): { path: string; title: string }[] {
  const folder = studiesAbove(import.meta.dirname);
  return globSync('*.yml', { cwd: folder })
    .sort()
    .map((file) => join(folder, file))
    .map((path) => ({ path: relative('', path), title: titleOf(readFileSync(path, 'utf8')) }));
}

/** The code is at different depths in a checkout and in the published package. */
function studiesAbove(folder: string): string {
  const here = join(folder, 'scenarios/studies');
  return existsSync(here) || dirname(folder) === folder ? here : studiesAbove(dirname(folder));
}
