/** What only the threads that bring the load can see of a script. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adjustWorkerScript } from '../../../plugin/hook/worker-script.ts';
import { handOver } from '../../../plugin/script/handed-over.ts';
import { ENGINE } from '../../../plugin/script/script.ts';
import { hookConfig } from '../../helpers/measurements.ts';

test('what a template of the engine’s options left empty ends the run before any load', () => {
  handOver(hookConfig());
  const script = (options: object) => ({ config: { engines: { [ENGINE]: options } }, scenarios: [] });
  for (const options of [{ auth: undefined }, { auth: { token: undefined } }, { headers: { a: 'Bearer undefined' } }]) {
    assert.throws(() => adjustWorkerScript(script(options), 'run'), /template has no value.*`connect`/);
  }
  adjustWorkerScript(script({ auth: { token: 'x' } }), 'run');
});
