import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CapacityError } from '../../../protocol/errors.ts';
import { readResult } from '../../../report/read.ts';
import { perfectResult } from '../../helpers/results.ts';

const folder = mkdtempSync(join(tmpdir(), 'read-'));
const file = join(folder, 'result.json');
after(() => rmSync(folder, { recursive: true, force: true }));

function written(text: string): string {
  writeFileSync(file, text);
  return file;
}

/** Asserts that reading fails with `code`, and that the message has the file and `mentions`. */
function refused(path: string, code: string, ...mentions: string[]): void {
  assert.throws(
    () => readResult(path),
    (error) => {
      assert.ok(error instanceof CapacityError, String(error));
      assert.equal(error.code, code);
      for (const mention of [path, ...mentions]) {
        assert.ok(error.message.includes(mention), `${mention} in ${error.message}`);
      }
      return true;
    },
  );
}

describe('readResult', () => {
  it('reads a file, and the folder of a run', () => {
    const result = perfectResult();
    written(JSON.stringify(result));
    assert.deepEqual(readResult(file), result);
    assert.deepEqual(readResult(folder), result);
  });

  it('names a file that is not there', () => {
    refused(join(folder, 'none.json'), 'FILE_UNREADABLE');
  });

  it('names a truncated file', () => {
    const text = JSON.stringify(perfectResult());
    refused(written(text.slice(0, text.length / 2)), 'FILE_UNREADABLE', 'not complete JSON');
    refused(written(''), 'FILE_UNREADABLE', 'not complete JSON');
  });

  it('names the keys that are wrong or missing', () => {
    const { latency: _, ...older } = perfectResult();
    const broken = { ...older, connections: { ...older.connections, peak: 'many' } };
    refused(
      written(JSON.stringify(broken)),
      'FILE_UNREADABLE',
      'connections.peak: expected number',
      'latency: expected',
    );
  });

  it('names no more keys of another document than one reads', () => {
    for (const other of ['{}', '[]', 'null', '"text"', '{"schemaVersion":0}']) {
      refused(written(other), 'FILE_UNREADABLE');
    }
    refused(written('{}'), 'FILE_UNREADABLE', 'schemaVersion', 'more');
  });

  it('tells what a newer version wrote', () => {
    refused(written(JSON.stringify({ ...perfectResult(), schemaVersion: 4 })), 'RESULT_TOO_NEW', 'schemaVersion 4');
    const result = perfectResult();
    const newer = { ...result, run: { ...result.run, moon: 'full' } };
    refused(written(JSON.stringify(newer)), 'RESULT_TOO_NEW', 'run.moon: unknown');
  });
});
