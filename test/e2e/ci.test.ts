/** A file of docs/ci with a real run: the others differ from it in what their servers do, which test/unit/docs/ci.test.ts checks. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { resultSchema } from '../../protocol/result/result.ts';
import { exitCodeOf } from '../../report/answer/outcome.ts';
import { CI_FILES, type CiFile, runCiFile } from '../helpers/ci-files.ts';
import { ROOT } from '../helpers/pages.ts';
import { quickScript } from '../helpers/run.ts';
import { tempStateDir } from '../helpers/stack.ts';

it('github-actions.yml ends with the exit code of a real run, and keeps its folder', async (t) => {
  const stateDir = tempStateDir(t);
  const cwd = dirname(stateDir);
  writeFileSync(join(cwd, 'capacity.yml'), JSON.stringify(quickScript()));
  const file = (CI_FILES['github-actions.yml'] as () => CiFile)();
  const npx = `shift; exec '${process.execPath}' '${join(ROOT, 'node_modules/artillery/bin/run')}' "$@"`;
  const { code, output, summary } = await runCiFile(cwd, file, npx, {
    PROFILE: 'embedded',
    SOCKETIO_CAPACITY_HOME: stateDir,
    ARTILLERY_DISABLE_TELEMETRY: 'true',
    NODE_OPTIONS: '',
  });
  const report = join(cwd, file.artifact);
  assert.ok(readdirSync(report).includes('junit.xml'), output);
  const result = resultSchema.parse(JSON.parse(readFileSync(join(report, 'result.json'), 'utf8')));
  assert.equal(code, exitCodeOf(result), output);
  assert.equal(result.delivery?.coverage, 1);
  assert.equal(readFileSync(summary, 'utf8'), readFileSync(join(report, 'report.md'), 'utf8'));
});
