import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempFolder } from './temp-folder.ts';

/** @returns a folder with these files by path; it is removed after the test */
export function fileTree(t: TestContext, files: Record<string, string>): string {
  const root = tempFolder(t);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}
