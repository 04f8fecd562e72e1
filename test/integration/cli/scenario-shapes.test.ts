/** Scenarios as people write them make the same load on this engine, by what their server counts. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { adoptScenario } from '../../../plugin/cli/adopt/adopted-scenario.ts';
import { parseScenario, parseYaml, settingsOfScript } from '../../../plugin/cli/scenario-argument.ts';
import { InvalidSettings } from '../../../plugin/script/invalid-settings.ts';
import type { Script } from '../../../plugin/script/script.ts';
import { playEach, readShapes, startCounting } from '../../helpers/shapes.ts';

const ENGINE = 'socketio-capacity';

/** Returns why a run refuses the scenario if only its engine is changed. */
async function refusalOf(text: string): Promise<string> {
  const script = (await parseYaml(text)) as Script;
  const engines = Object.entries(script.config.engines ?? { [ENGINE]: {} });
  const config = {
    ...script.config,
    engines: Object.fromEntries(engines.map(([, options]) => [ENGINE, options])) as Script['config']['engines'],
  };
  const scenarios = script.scenarios?.map((one) => ({ ...one, ...(one.engine !== undefined && { engine: ENGINE }) }));
  try {
    settingsOfScript({ ...script, config, scenarios } as Script);
    return '';
  } catch (error) {
    if (error instanceof InvalidSettings) return error.message;
    throw error;
  }
}

suite('shapes', { concurrency: 8 }, () => {
  for (const { name, path, text, counts, before = counts, replies, refused = [] } of readShapes()) {
    test(`a server receives the expected messages from the adopted scenario ${name}`, async (t) => {
      const server = await startCounting(t, text, replies);
      if (before !== 'none') {
        await playEach(await parseScenario(server.text, path), path);
        assert.deepEqual(await server.counted(), before, 'with the engine it was written for');
      }
      if (refused.length > 0) {
        const refusal = await refusalOf(server.text);
        for (const part of refused) assert.ok(refusal.includes(part), `${part}: ${refusal}`);
      }
      const written = await adoptScenario(server.text, path, false);
      assert.deepEqual(written.problems, [], written.text);
      const counters = await playEach(await parseScenario(written.text, path), path);
      assert.deepEqual(await server.counted(), counts, `${written.text}${JSON.stringify(counters)}`);
      const failures = Object.keys(counters).filter((counter) => counter.startsWith('errors.'));
      assert.deepEqual(failures, [], written.text);
      const sent = Object.entries(counts).filter(([key]) => !/^(connect|token$|acks$|GET |POST )/.test(key));
      assert.equal(
        counters['socketio.emit'] ?? 0,
        sent.reduce((sum, [, count]) => sum + count, 0),
      );
    });
  }
});
