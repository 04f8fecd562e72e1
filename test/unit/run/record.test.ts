import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { RunRecord } from '../../../plugin/run/record.ts';
import { readResult } from '../../../report/read.ts';
import { perfectResult } from '../../helpers/results.ts';

test('a result is written whole, and `latest` leads to it', (t) => {
  const { record, results } = open(t);
  record.write(perfectResult());
  assert.deepEqual(readResult(join(results, 'latest')), perfectResult());
});

test('a figure that cannot be is told by its key, and costs nothing of what was measured', (t) => {
  const { record, results } = open(t);
  const result = perfectResult();
  result.connections.peak = Number.NaN;
  assert.throws(
    () => record.write(result),
    (error: Error & { code?: string }) => error.code === 'RESULT_UNSOUND' && /connections\.peak/.test(error.message),
  );
  assert.ok(!existsSync(join(results, 'latest')));
  const kept = JSON.parse(readFileSync(join(record.directory, 'result.unsound.json'), 'utf8'));
  assert.equal(kept.connections.peak, null);
  assert.deepEqual(kept.delivery, perfectResult().delivery);
});

function open(t: { after(clean: () => void): void }): { record: RunRecord; results: string } {
  const results = mkdtempSync(join(tmpdir(), 'capacity-record-'));
  t.after(() => rmSync(results, { recursive: true, force: true }));
  return { record: new RunRecord(results, 'run'), results };
}
