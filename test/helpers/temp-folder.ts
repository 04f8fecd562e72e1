import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cleaner } from './raw-listen.ts';

/** @returns a new folder; it is removed after the test */
export function tempFolder(t: Cleaner, prefix = 'test-'): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
