/** What the runs of a study's file are told, and when they are those of another one. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { studySeries } from '../../../plugin/cli/study/series.ts';
import type { StudyFile } from '../../../plugin/cli/study/study-file.ts';

const PLAN: StudyFile['plan'] = {
  scenario: '1k.yml',
  vary: { TLS: ['off', 'on'], workers: [1, 2, 4] },
  servers: {},
  except: [],
  repeat: 20,
  seed: 1,
};
const FILE: StudyFile = { name: 'tls', title: '', plan: PLAN, folder: '/f', scenario: '1k.yml', scenarioHash: 'abc' };

it('tells a run its levels, and starts the server that it names in the folder of the file', () => {
  const chat = { command: ['node', 'chat.mjs'], ready: 3000 };
  const { commandOf } = studySeries({ ...FILE, plan: { ...PLAN, servers: { chat } } }, 'results');
  const { env, overrides, server } = commandOf({ block: 1, levels: { TLS: 'on', workers: 2, server: 'chat' } });
  assert.deepEqual([env, server], [{ TLS: 'on' }, { ...chat, cwd: '/f' }]);
  assert.equal(JSON.stringify(overrides), '{"config":{"plugins":{"socketio-capacity":{"workers":2}}}}');
});
