import assert from 'node:assert/strict';
import { statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { makeFolder } from '../../../protocol/base/make-folder.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

describe('a folder', () => {
  it('creates a folder with its parents, private on request, and accepts an existing one', (t) => {
    const path = join(tempFolder(t), 'a/b');
    for (const _ of [1, 2]) makeFolder(path, 0o700);
    assert.deepEqual(
      [path, join(path, '..')].map((one) => statSync(one).mode & 0o777),
      [0o700, 0o700],
    );
  });

  const CASES: Record<string, (folder: string) => string> = {
    'below a file system without folders': () => '/proc/none/results',
    'that is a file': (folder) => join(folder, 'file'),
    'below a file': (folder) => join(folder, 'file/results'),
    'at a broken link': (folder) => join(folder, 'link'),
  };
  for (const [name, pathIn] of Object.entries(CASES)) {
    it(`refuses to create a folder ${name}`, (t) => {
      const folder = tempFolder(t);
      writeFileSync(join(folder, 'file'), '');
      symlinkSync(join(folder, 'nothing'), join(folder, 'link'));
      assert.throws(() => makeFolder(pathIn(folder)), { code: /^E/ });
    });
  }
});
