import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';

test('a message to a parent process that has just ended is lost without an error', { timeout: 30_000 }, async () => {
  const program = new URL('../../fixtures/tells-late.ts', import.meta.url).pathname;
  const parent = spawn(process.execPath, [program], { stdio: ['ignore', 'ignore', 'pipe'] });
  assert.equal(await text(parent.stderr), 'settled\n');
});
