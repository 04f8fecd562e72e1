/**
 * Tests that scripts which are too large, too deep or could change prototypes are refused before other code reads them.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readScenario, scenarioHash } from '../../../plugin/cli/scenario-argument.ts';
import { fileTree } from '../../helpers/file-tree.ts';
import { hookConfig } from '../../helpers/measurements.ts';

const ENGINE = 'socketio-capacity';

describe('a script that is out of bounds', () => {
  let bomb: unknown = 'x';
  for (let level = 0; level < 9; level++) bomb = Array(10).fill(bomb);
  let deep: unknown = [];
  for (let level = 0; level < 300; level++) deep = [deep];
  const circle: unknown[] = [];
  circle.push(circle);
  const step = (single: object) => ({ scenarios: [{ engine: ENGINE, flow: [single] }] });
  const flow = (value: unknown) => step({ emit: ['x', value] });
  const named = (text: string) => ({ engines: { [ENGINE]: JSON.parse(text) } });

  for (const [what, refused, config, changes] of [
    ['aliases of aliases', /scenarios\[0\]\.flow\[0\]\.emit: more than 1000000 values/, {}, flow(bomb)],
    ['a deep value', /scenarios\[0\]\.flow\[0\]\.emit: nested more than 200 levels deep/, {}, flow(deep)],
    ['a value that contains itself', /nested more than 200 levels deep/, {}, flow(circle)],
    ['the key __proto__', /capacity\.__proto__: /, named('{"__proto__": {"a": 1}}'), {}],
    ['the key __proto__ in an option', /auth\.__proto__: /, named('{"auth": {"__proto__": {"a": 1}}}'), {}],
    ['scenarios that are not a list', /scenarios: /, {}, { scenarios: 9 as never }],
    ['a scenario that is null', /scenarios\[0\]: /, {}, { scenarios: [null] as never }],
    ['a processor that is null', /config\.processor: /, { processor: null }, {}],
    ['a loop whose count is no number', /flow\[0\]\.count: /, {}, step({ loop: [{ think: 1 }], count: 'x' })],
    ['inherited `constructor', /socketio-capacity\.constructor: unknown option/, named('{"constructor": 1}'), {}],
  ] as const) {
    it(`refuses a script that is out of bounds: ${what}`, () => {
      assert.throws(() => hookConfig({}, config, {}, changes), { code: 'CONFIG_INVALID', message: refused });
    });
  }

  it('the commands refuse a script that is out of bounds before any other code reads it', async (t) => {
    const tenOf = (name: string) => `[${Array(10).fill(`*${name}`).join()}]`;
    const levels = Array.from({ length: 20 }, (_, level) => `l${level + 1}: &l${level + 1} ${tenOf(`l${level}`)}`);
    const folder = fileTree(t, { 'bomb.yml': ['l0: &l0 x', ...levels, 'config: { target: *l20 }'].join('\n') });
    const message = /more than 1000000 values/;
    const path = join(folder, 'bomb.yml');
    for (const read of [() => readScenario(path, undefined), () => scenarioHash(path)]) {
      await assert.rejects(read, { code: 'CONFIG_INVALID', message });
    }
  });

  it('the bounds of a script do not count the rows of CSV files', () => {
    const payload = [{ path: 'users.csv', data: Array.from({ length: 400_000 }, (_, row) => [row, 'name', 'x']) }];
    assert.equal(hookConfig({}, { payload }).load.connections, 10);
  });
});
