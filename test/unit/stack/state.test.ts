import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { claimState, readState, type StackState, writeState } from '../../../server/stack/state/state.ts';

function tempDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'state-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function someState(token: string): StackState {
  return {
    version: 1,
    phase: 'up',
    profile: 'embedded',
    target: 'http://127.0.0.1:8080',
    token,
    connections: 10,
    workers: [{ id: 'w0', port: 8080, controlUrl: 'http://127.0.0.1:8081', pid: 1, restarts: 0 }],
    pm2Home: '/tmp/x/pm2',
    redisNodes: [],
    nginxWorkerPids: [],
    logDir: '/tmp/x/logs',
    startedAt: '2026-01-01T00:00:00.000Z',
    startTimes: {},
  };
}

suite('state', () => {
  test('is read as it was written, by its owner only, and leaves no drafts', (t) => {
    const dir = tempDir(t);
    assert.equal(readState(dir), undefined);
    writeState(dir, someState('first'));
    assert.deepEqual(readState(dir), someState('first'));
    assert.equal(statSync(join(dir, 'state.json')).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(dir), ['state.json']);
  });

  test('only the first claim succeeds', (t) => {
    const dir = tempDir(t);
    assert.equal(claimState(dir, someState('first')), true);
    assert.equal(claimState(dir, someState('second')), false);
    assert.deepEqual(readState(dir), someState('first'));
    assert.deepEqual(readdirSync(dir), ['state.json']);
  });

  test('an invalid state is distinguished from none', (t) => {
    const dir = tempDir(t);
    writeFileSync(join(dir, 'state.json'), JSON.stringify({ ...someState('x'), version: 2 }));
    assert.equal(readState(dir), 'unreadable');
  });
});
