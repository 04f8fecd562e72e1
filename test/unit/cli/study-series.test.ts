/** What the runs of a study's file are told, and when they are those of another one. */
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { it } from 'node:test';
import { unmetNeeds } from '../../../plugin/cli/study/needs.ts';
import { changesOf, studySeries } from '../../../plugin/cli/study/series.ts';
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

it('lists what has changed in the file or its scenario', () => {
  const changed = { ...PLAN, repeat: 5, vary: { TLS: ['off', 'on'], workers: [1, 2], RATE: [1] } };
  assert.deepEqual(changesOf(FILE, { plan: changed, scenarioHash: 'other' }), [
    'repeat: was 20, is 5',
    'vary.workers: was [1,2,4], is [1,2]',
    'the order in vary: was ["TLS","workers"], is ["TLS","workers","RATE"]',
    'vary.RATE: was not there, is [1]',
    'the text of 1k.yml has changed',
  ]);
  assert.deepEqual(changesOf(FILE, FILE), []);
  const { TLS, workers } = PLAN.vary as { TLS: string[]; workers: number[] };
  const swapped = { ...PLAN, vary: { workers, TLS } };
  assert.deepEqual(changesOf(FILE, { ...FILE, plan: swapped }), [
    'the order in vary: was ["TLS","workers"], is ["workers","TLS"]',
  ]);
});

it('tells a run its levels, and starts the server that it names in the folder of the file', () => {
  const chat = { command: ['node', 'chat.mjs'], ready: 3000 };
  const { commandOf } = studySeries({ ...FILE, plan: { ...PLAN, servers: { chat } } }, 'results', new Map());
  const { env, overrides, server } = commandOf({ block: 1, levels: { TLS: 'on', workers: 2, server: 'chat' } });
  assert.deepEqual([env, server], [{ TLS: 'on' }, { ...chat, cwd: '/f' }]);
  assert.equal(JSON.stringify(overrides), '{"config":{"plugins":{"socketio-capacity":{"workers":2}}}}');
});

it('knows before the first run which levels lack a package, and does not start these', async () => {
  const vary = { CAPACITY_WEBSOCKETS: ['ws', 'eiows'], CAPACITY_MODULES: [tmpdir()] };
  const file = { ...FILE, plan: { ...PLAN, vary } };
  const unmet = await unmetNeeds(file.plan);
  assert.deepEqual([...unmet.keys()], [`CAPACITY_WEBSOCKETS=eiows, CAPACITY_MODULES=${tmpdir()}`]);
  const { commandOf } = studySeries(file, 'results', unmet);
  const levels = { CAPACITY_WEBSOCKETS: 'eiows', CAPACITY_MODULES: tmpdir() };
  assert.throws(() => commandOf({ block: 1, levels }), { code: 'NOT_INSTALLED', fix: /npm install eiows@/ });
  assert.ok(commandOf({ block: 1, levels: { ...levels, CAPACITY_WEBSOCKETS: 'ws' } }));
});
