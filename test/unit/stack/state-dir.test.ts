/** Where the state folder is, and that nobody else could have written what is in it. */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import type { CapacityError } from '../../../protocol/errors.ts';
import { findStack } from '../../../server/stack/stack.ts';
import {
  defaultStateDir,
  explainDiskError,
  isTrusted,
  prepareStateDir,
  STATE_FOLDERS,
} from '../../../server/stack/state/state-dir.ts';

const NOBODY = 65_534;
const asRoot = process.getuid?.() === 0;

function tempDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'state-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

suite('the default folder', () => {
  const stateHome = join(homedir(), '.local/state/socketio-capacity');

  test('is named by SOCKETIO_CAPACITY_HOME, before all others', (t) => {
    const XDG_RUNTIME_DIR = tempDir(t);
    assert.equal(defaultStateDir({ SOCKETIO_CAPACITY_HOME: '/somewhere/', XDG_RUNTIME_DIR }), '/somewhere');
  });

  test('is in the session’s private folder', (t) => {
    const XDG_RUNTIME_DIR = tempDir(t);
    assert.equal(defaultStateDir({ XDG_RUNTIME_DIR }), join(XDG_RUNTIME_DIR, 'socketio-capacity'));
  });

  test('is in the state folder of the user where there is no session', () => {
    assert.equal(defaultStateDir({}), stateHome);
    assert.equal(defaultStateDir({ XDG_RUNTIME_DIR: '' }), stateHome);
    assert.equal(defaultStateDir({ XDG_STATE_HOME: '/state' }), '/state/socketio-capacity');
    assert.equal(defaultStateDir({ XDG_STATE_HOME: 'relative' }), stateHome);
  });

  test('is not in a session’s folder that others may enter', (t) => {
    const XDG_RUNTIME_DIR = tempDir(t);
    chmodSync(XDG_RUNTIME_DIR, 0o755);
    assert.equal(defaultStateDir({ XDG_RUNTIME_DIR }), stateHome);
  });

  test('is not in another user’s session, which su and sudo leave', { skip: !asRoot && 'needs root' }, (t) => {
    const XDG_RUNTIME_DIR = tempDir(t);
    chownSync(XDG_RUNTIME_DIR, NOBODY, NOBODY);
    assert.equal(defaultStateDir({ XDG_RUNTIME_DIR }), stateHome);
  });
});

suite('a folder that somebody else has planted', () => {
  /** @returns the path of a folder that holds what must not be read */
  function planted(t: TestContext): string {
    const dir = join(tempDir(t), 's');
    mkdirSync(dir, { mode: 0o700 });
    writeFileSync(join(dir, 'state.json'), '{}');
    return dir;
  }

  async function assertRefused(dir: string, message: RegExp): Promise<void> {
    const refused = { code: 'STATE_DIR_UNUSABLE', message, fix: /SOCKETIO_CAPACITY_HOME/ };
    await assert.rejects(findStack(dir), refused);
    assert.throws(() => prepareStateDir(dir), refused);
  }

  test('is refused when it belongs to another user', { skip: !asRoot && 'needs root' }, async (t) => {
    const dir = planted(t);
    chownSync(dir, NOBODY, NOBODY);
    await assertRefused(dir, /belongs to another user \(uid 65534\)/);
  });

  for (const mode of [0o720, 0o702]) {
    test(`is refused with mode ${mode.toString(8)}`, async (t) => {
      const dir = planted(t);
      chmodSync(dir, mode);
      await assertRefused(dir, /can be written to by other users/);
    });
  }

  test('is refused behind a symbolic link, also with a slash at its end', async (t) => {
    const link = join(tempDir(t), 'link');
    symlinkSync(planted(t), link);
    await assertRefused(link, /is a symbolic link/);
    await assertRefused(`${link}/`, /is a symbolic link/);
  });

  test('is refused as a part of the folder, too', (t) => {
    const dir = planted(t);
    symlinkSync(tempDir(t), join(dir, 'logs'));
    assert.throws(() => prepareStateDir(dir), { code: 'STATE_DIR_UNUSABLE', message: /logs is a symbolic link/ });
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
    assert.throws(() => prepareStateDir(join(file, 's')), {
      code: 'STATE_DIR_UNUSABLE',
      fix: /SOCKETIO_CAPACITY_HOME/,
    });
  });

  test('is reported when its disk is full, and other errors are left as they are', () => {
    const full = errorOf(() => writeFileSync('/dev/full', 'x'));
    const error = explainDiskError(full, '/state') as CapacityError;
    assert.equal(error.code, 'STATE_DIR_UNUSABLE');
    assert.equal(error.cause, full);
    const other = new Error('other');
    assert.equal(explainDiskError(other, '/state'), other);
  });

  test('is refused on a full disk, before anything starts', (t) => {
    const full = { code: 'STATE_DIR_UNUSABLE', message: /disk of the state folder .* is full/ };
    assert.throws(() => prepareStateDir(join(tempDir(t), 's'), Number.POSITIVE_INFINITY), full);
  });

  test('is refused when its path is too long for PM2’s sockets', (t) => {
    assert.throws(() => prepareStateDir(join(tempDir(t), 'x'.repeat(100))), { code: 'STATE_DIR_UNUSABLE' });
  });
});

function errorOf(fails: () => void): unknown {
  try {
    fails();
  } catch (error) {
    return error;
  }
  return undefined;
}
