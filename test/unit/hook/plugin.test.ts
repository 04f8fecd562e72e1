/**
 * Tests the plugin in processes that do not conduct a run: on the user's machine of a remote platform, and in worker
 * threads.
 */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { it } from 'node:test';
import { adjustWorkerScript, Plugin } from '../../../plugin/hook/plugin.ts';
import { handOverSettings } from '../../../plugin/script/handed-over.ts';
import { ENGINE_NAME } from '../../../plugin/script/script.ts';
import { hookConfig } from '../../helpers/measurements.ts';

for (const platform of ['az:aci', 'aws:lambda']) {
  it(`the plugin does nothing on the user's machine if Artillery runs the load on ${platform}`, (t) => {
    const logged: string[] = [];
    const extended: unknown[] = [];
    const world = globalThis as { artillery?: unknown };
    world.artillery = {
      testRunId: 'here',
      testInfo: { flags: { platform }, metadata: { testConfig: { phases: [] } } },
      log: (text: string) => logged.push(text),
      ext: (extension: unknown) => extended.push(extension),
    };
    t.after(() => delete world.artillery);
    const events = new EventEmitter();
    new Plugin({ config: { target: 'nowhere' }, scenarios: [] } as never, events as never, {});
    assert.deepEqual([extended, events.eventNames()], [[], []]);
    assert.match(logged.join(), new RegExp(`runs on ${platform}`));
  });
}

it('the plugin refuses an engine option whose template had no value', () => {
  handOverSettings(hookConfig());
  const script = (options: object) => ({ config: { engines: { [ENGINE_NAME]: options } }, scenarios: [] });
  for (const options of [{ auth: undefined }, { auth: { token: undefined } }, { headers: { a: 'Bearer undefined' } }]) {
    assert.throws(() => adjustWorkerScript(script(options), 'run'), /template has no value.*`connect`/);
  }
  adjustWorkerScript(script({ auth: { token: 'x' } }), 'run');
});
