/** Where the state folder is, and that nobody else could have written what is in it. */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { findStack } from '../../../server/stack/stack.ts';
import { defaultStateDir, isTrusted, prepareStateDir, STATE_FOLDERS } from '../../../server/stack/state/state-dir.ts';

const NOBODY = 65_534;
const asRoot = process.getuid?.() === 0;

function tempDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'state-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

test('the default folder is the one that is named, or the user’s own', () => {
  assert.equal(defaultStateDir({ SOCKETIO_CAPACITY_HOME: '/somewhere/' }), '/somewhere');
  for (const environment of [{}, { SOCKETIO_CAPACITY_HOME: '' }]) {
    assert.equal(defaultStateDir(environment), join(homedir(), '.local/state/socketio-capacity'));
  }
});

suite('a folder that somebody else has planted', () => {
  /** @returns the path of a folder that holds what must not be read */
  function planted(t: TestContext): string {
    const dir = join(tempDir(t), 's');
    mkdirSync(dir, { mode: 0o700 });
    writeFileSync(join(dir, 'state.json'), '{}');
    return dir;
  }

  const cases: Record<string, (dir: string, t: TestContext) => string> = {
    'belongs to another user': (dir) => {
      chownSync(dir, NOBODY, NOBODY);
      return dir;
    },
    'is writable by the group': (dir) => {
      chmodSync(dir, 0o720);
      return dir;
    },
    'is writable by everybody': (dir) => {
      chmodSync(dir, 0o702);
      return dir;
    },
    'is a symbolic link': (dir, t) => {
      const link = join(tempDir(t), 'link');
      symlinkSync(dir, link);
      return link;
    },
    'is a symbolic link with a slash at its end': (dir, t) => {
      const link = join(tempDir(t), 'link');
      symlinkSync(dir, link);
      return `${link}/`;
    },
  };
  for (const [name, plant] of Object.entries(cases)) {
    test(`is refused if it ${name}`, { skip: name.includes('user') && !asRoot && 'needs root' }, async (t) => {
      const dir = plant(planted(t), t);
      await assert.rejects(findStack(dir), { code: 'STATE_DIR_UNUSABLE' });
      assert.throws(() => prepareStateDir(dir), { code: 'STATE_DIR_UNUSABLE' });
    });
  }

  test('is refused as a part of the folder, too', (t) => {
    const dir = planted(t);
    symlinkSync(tempDir(t), join(dir, 'logs'));
    assert.throws(() => prepareStateDir(dir), { code: 'STATE_DIR_UNUSABLE' });
  });
});

suite('the folder of a stack', () => {
  test('is made for this user only, whatever the umask', (t) => {
    const dir = join(tempDir(t), 'deep/s');
    const umask = process.umask(0);
    t.after(() => process.umask(umask));
    prepareStateDir(dir);
    for (const folder of [dir, ...STATE_FOLDERS.map((name) => join(dir, name))]) {
      assert.equal(statSync(folder).mode & 0o777, 0o700, folder);
    }
    assert.equal(isTrusted(dir), true);
    prepareStateDir(dir);
  });

  test('is reported when it cannot be made', (t) => {
    const file = join(tempDir(t), 'file');
    writeFileSync(file, '');
    assert.throws(() => prepareStateDir(join(file, 's')), { code: 'STATE_DIR_UNUSABLE' });
  });

  test('is refused when its path is too long for PM2’s sockets', (t) => {
    assert.throws(() => prepareStateDir(join(tempDir(t), 'x'.repeat(100))), { code: 'STATE_DIR_UNUSABLE' });
  });
});
