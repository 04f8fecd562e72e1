import assert from 'node:assert/strict';
import { constants } from 'node:buffer';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { logTail, readLogEnd } from '../../../server/stack/logs.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

test('reads the end of a log file that is too large for a string', (t) => {
  const file = join(tempFolder(t), 'w0.log');
  const log = openSync(file, 'w');
  writeSync(log, '\nlistening\nout of memory\n', constants.MAX_STRING_LENGTH);
  closeSync(log);
  assert.equal(logTail(file, 2), '  listening\n  out of memory');
  assert.ok(readLogEnd(file).length <= 2 ** 20);
});

test('reads a missing log file as empty', () => {
  assert.match(logTail('/nowhere/w0.log'), /is empty/);
});
