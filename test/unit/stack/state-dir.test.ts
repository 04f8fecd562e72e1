import assert from 'node:assert/strict';
import { chmodSync, chownSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { findStack } from '../../../server/stack/stack.ts';
import {
  claimStackState,
  readStackState,
  type StackState,
  writeStackState,
} from '../../../server/stack/state/state.ts';
import {
  defaultStateDir,
  isTrustedStateDir,
  prepareStateDir,
  STATE_FOLDERS,
} from '../../../server/stack/state/state-dir.ts';
import { fileTree } from '../../helpers/file-tree.ts';

const NOBODY = 65_534;
const asRoot = process.getuid?.() === 0;
const UNUSABLE = { code: 'STATE_DIR_UNUSABLE' };

test('the folder of a stack is the configured folder, or by default a folder of the user', () => {
  assert.equal(defaultStateDir({ SOCKETIO_CAPACITY_HOME: '/somewhere/' }), '/somewhere');
  for (const environment of [{}, { SOCKETIO_CAPACITY_HOME: '' }])
    assert.equal(defaultStateDir(environment), join(homedir(), '.local/state/socketio-capacity'));
});

suite('a folder planted by another user', () => {
  const linkTo = (dir: string) => {
    symlinkSync(dir, `${dir}-link`);
    return `${dir}-link`;
  };
  const cases: Record<string, (dir: string) => string | undefined> = {
    'belongs to another user': (dir) => void chownSync(dir, NOBODY, NOBODY),
    'is writable by the group': (dir) => void chmodSync(dir, 0o720),
    'is writable by everybody': (dir) => void chmodSync(dir, 0o702),
    'is a symbolic link': linkTo,
    'is a symbolic link with a slash at its end': (dir) => `${linkTo(dir)}/`,
  };
  for (const [name, plant] of Object.entries(cases)) {
    test(`refuses a stack folder that ${name}`, {
      skip: name.includes('user') && !asRoot && 'needs root',
    }, async (t) => {
      const planted = join(fileTree(t, { 's/state.json': '{}' }), 's');
      chmodSync(planted, 0o700);
      const dir = plant(planted) ?? planted;
      await assert.rejects(findStack(dir), UNUSABLE);
      assert.throws(() => prepareStateDir(dir), UNUSABLE);
    });
  }

  test('refuses a stack folder if one of its subfolders was planted by another user', (t) => {
    const dir = fileTree(t, {});
    symlinkSync(fileTree(t, {}), join(dir, 'logs'));
    assert.throws(() => prepareStateDir(dir), UNUSABLE);
  });
});

suite('the folder of a stack', () => {
  test('creates the stack folder for this user only, with any umask', (t) => {
    const dir = join(fileTree(t, {}), 'deep/s');
    const umask = process.umask(0);
    t.after(() => process.umask(umask));
    prepareStateDir(dir);
    for (const folder of [dir, ...STATE_FOLDERS.map((name) => join(dir, name))])
      assert.equal(statSync(folder).mode & 0o777, 0o700, folder);
    assert.equal(isTrustedStateDir(dir), true);
    prepareStateDir(dir);
  });

  test('reports a stack folder that cannot be created, or whose path is too long for PM2’s sockets', (t) => {
    const dir = fileTree(t, { file: '' });
    for (const name of ['file/s', 'x'.repeat(100)]) assert.throws(() => prepareStateDir(join(dir, name)), UNUSABLE);
  });
});

suite('the state', () => {
  const someState = (token: string): StackState => ({
    ...{ version: 1, phase: 'up', profile: 'embedded', target: 'http://127.0.0.1:8080', token, connections: 10 },
    workers: [{ id: 'w0', port: 8080, controlUrl: 'http://127.0.0.1:8081', pid: 1, restarts: 0 }],
    ...{ pm2Home: '/tmp/x/pm2', redisNodes: [], nginxWorkerPids: [], logDir: '/tmp/x/logs' },
    ...{ startedAt: '2026-01-01T00:00:00.000Z', startTimes: {} },
  });
  /** Asserts that the folder contains only the first state, and no drafts. */
  const assertFirst = (dir: string) => {
    assert.deepEqual(readStackState(dir), someState('first'));
    assert.deepEqual(readdirSync(dir), ['state.json']);
  };

  test('writes the stack state readable for its owner only, and reads it back unchanged', (t) => {
    const dir = fileTree(t, {});
    assert.equal(readStackState(dir), undefined);
    writeStackState(dir, someState('first'));
    assert.equal(statSync(join(dir, 'state.json')).mode & 0o777, 0o600);
    assertFirst(dir);
  });

  test('keeps the stack state of the first process that claims the folder', (t) => {
    const dir = fileTree(t, {});
    assert.deepEqual(
      [claimStackState(dir, someState('first')), claimStackState(dir, someState('second'))],
      [true, false],
    );
    assertFirst(dir);
  });

  test('distinguishes an invalid stack state from a missing one', (t) => {
    const state = JSON.stringify({ ...someState('x'), version: 2 });
    assert.equal(readStackState(fileTree(t, { 'state.json': state })), 'unreadable');
  });
});
