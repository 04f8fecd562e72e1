import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { saveBaseline } from '../../../plugin/cli/baseline-command.ts';
import { perfectResult } from '../../helpers/results.ts';
import { run, setOf } from '../../helpers/run-sets.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

test('saving a SUSPECT run as a baseline reports the finding that makes it SUSPECT', (context) => {
  const file = join(tempFolder(context), 'baseline.json');
  const suspect = run((result) => {
    result.verdict.status = 'SUSPECT';
    result.findings = [
      {
        ...{ code: 'GENERATOR_LATE', about: 'generator', invalidates: ['latency'], fails: null },
        ...{ explains: [], message: '9 % of timers were late', fix: '' },
      },
    ];
  });
  assert.deepEqual(saveBaseline(file, 'main', [setOf(suspect)]).doubts, [
    'SUSPECT: passed, but the figures are in doubt (GENERATOR_LATE: 9 % of timers were late)',
  ]);
  assert.deepEqual(saveBaseline(file, 'main', [setOf(perfectResult())]).doubts, []);
});
