import assert from 'node:assert/strict';
import { globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parseLevel, settingsOfLevels } from '../../../plugin/cli/study/levels.ts';
import { parseStudyPlan, type RequestedStudy, readStudy, seriesOfStudy } from '../../../plugin/cli/study/read-study.ts';
import { column } from '../../helpers/columns.ts';
import { fileTree } from '../../helpers/file-tree.ts';
import { ROOT } from '../../helpers/pages.ts';

const TLS = ['off', 'on'];
const PLAN = { scenario: '1k.yml', vary: { TLS }, repeat: 2 };
const chat = { command: ['node', 'chat.mjs'], ready: 3000 };

/** Returns the problems of a study on a scenario with this text, as `path: message`. */
function problemsOf(document: object, scenario?: string): string[] {
  return parseStudyPlan(document, scenario).problems.map(({ path, message }) => `${path}: ${message}`);
}

/** @param expected beginning of each problem, with the suggestion if there is one */
function assertProblems(document: object, expected: string[]): void {
  const found = problemsOf(document);
  for (const problem of expected) {
    const isThere = found.some((one) => one.startsWith(problem));
    assert.ok(isThere, `${problem} in ${found}`);
  }
  assert.equal(found.length, expected.length, found.join('\n'));
}

describe('the file of a study', () => {
  it('reading a study file reports all mistakes together, each with its path in the file', () => {
    const wrong: [name: string, levels: unknown, problem: string][] = [
      ['TSL', TLS, ': no run reads this variable, did you mean "TLS"?'],
      ['TLS', ['on', 'perhaps'], '[1]: '],
      ['CAPACITY_ADAPTER', ['reddis', 'redis'], '[0]: '],
      ['worker', [1, 2], ': the plugin has no such option, did you mean "workers"?'],
      ['warmUp', [1, 'two'], '[1]: '],
      ['hold', 3, ': '],
      ['PROFILE', [], ': '],
      ['RATE', [10, null], '[1]: '],
      ['BROADCASTS', [5, '5'], ': '],
      ['broadcasts.bytes', [0, 10], '[0]: '],
      ['results', ['here', 'there'], ': '],
    ];
    const problems = wrong.map(([name, , problem]) => `vary.${name}${problem}`);
    const others = ['repeat: ', 'repeats: unknown option, did you mean "repeat"?', 'scenario: '];
    assertProblems({ scenario: 'none.yml', vary: Object.fromEntries(wrong), repeats: 2 }, [...problems, ...others]);
  });

  it('reading a study file reports levels, servers and scenarios with which no run can start', () => {
    const vary = { server: ['chat', 'chatt'], 'engine.clientt': [1, 2], 'engine.maxPayload': ['x'] };
    assertProblems({ ...PLAN, scenario: 'none.yml', vary, servers: { chat, other: { command: [], ready: 'here' } } }, [
      'scenario: ',
      'vary.server[1]: `servers` has none of this name, did you mean "chat"?',
      'vary.engine.clientt: the engine has no such option, did you mean "engine.client"?',
      'vary.engine.maxPayload[0]: ',
      'servers.other.command: ',
      'servers.other.ready: ',
    ]);
  });

  const vary = { TLS, workers: [1, 2] };
  const twice = ['except[1]', 'except[2]'];
  for (const [what, document, places] of [
    ['must have more than one run', { ...PLAN, vary: { TLS: ['on'] }, repeat: 1 }, ['repeat']],
    ['may repeat a scenario without varying it', { scenario: '1k.yml', repeat: 2 }, []],
    ['cannot detect a change without levels', { scenario: '1k.yml', repeat: 2, detect: 0.2 }, ['detect']],
    ['cannot override the scenario itself', { ...PLAN, args: ['--overrides', '{}'] }, ['args']],
    ['must repeat runs at least once', { ...PLAN, repeat: 0 }, ['repeat']],
    ['must list its servers in `vary`', { ...PLAN, servers: { chat } }, ['vary.server']],
    ['may exclude combinations', { ...PLAN, vary, except: [{ TLS: 'on', workers: 2 }] }, []],
    [
      'cannot exclude single levels, or levels that it does not vary',
      { ...PLAN, vary, except: [{ TLS: 'on' }, { TLS: 'onn' }, { RATE: 1 }] },
      twice,
    ],
    ['cannot exclude all combinations', { ...PLAN, except: [{ TLS: 'on' }] }, ['except']],
    ['may vary variables of its servers', { ...PLAN, servers: { chat }, vary: { server: ['chat'], MINE: [1, 2] } }, []],
  ] as [string, object, string[]][]) {
    it(`a study file ${what}`, () => assert.deepEqual(column(parseStudyPlan(document, '').problems, 'path'), places));
  }

  for (const nothing of [null, 'text', []]) {
    it(`refuses ${JSON.stringify(nothing)} as the file of a study`, () =>
      assert.notDeepEqual(problemsOf(nothing as never, ''), []));
  }

  it('a study file may vary environment variables that only its scenario reads', () => {
    const study = { ...PLAN, vary: { GROUPS: [1, 2] } };
    assert.deepEqual(problemsOf(study, 'target: "{{ $processEnvironment.GROUPS }}"'), []);
    assert.match(problemsOf(study, 'target: "{{ $processEnvironment.GROUPS_OF }}"').join(), /no run reads/);
  });

  it('names in a study file cannot access inherited object properties', () => {
    problemsOf({ ...PLAN, vary: { '__proto__.polluted': [1, 2] } });
    assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  });

  it('refuses the file of a study if it is missing or not YAML', async (t) => {
    const folder = fileTree(t, { 'broken.yml': 'vary: {' });
    for (const name of ['broken.yml', 'none.yml'])
      await assert.rejects(readStudy(join(folder, name)), { code: 'CONFIG_INVALID' });
  });

  it('every bundled study is valid and begins with its question', async () => {
    const paths = globSync('scenarios/studies/*.yml', { cwd: ROOT });
    assert.ok(paths.length > 0);
    for (const path of paths) assert.match((await readStudy(join(ROOT, path))).title, /^\w.*\?$/);
  });
});

it('a run of a study gets keys in capitals as environment variables, and all options in one override', () => {
  const levels = { TLS: true, RATE: 10, workers: 2, 'broadcasts.bytes': 10, 'broadcasts.count': 3 };
  const { env, overrides } = settingsOfLevels({ ...levels, 'engine.client': 'official', server: 'chat' });
  assert.deepEqual(env, { TLS: 'true', RATE: '10' });
  const plugins = { 'socketio-capacity': { workers: 2, broadcasts: { bytes: 10, count: 3 } } };
  const engines = { 'socketio-capacity': { client: 'official' } };
  assert.deepEqual(JSON.parse(JSON.stringify(overrides)), { config: { plugins, engines } });
  assert.deepEqual(settingsOfLevels({ TLS: 'on' }).overrides, {});
});

it('the command line gives the plan of a study of a scenario, and overrides the plan in a study file', async (t) => {
  const folder = fileTree(t, {
    'a.yml': '{ "config": { "processor": "mine.js" } }',
    'b.yml': '{ "config": {} }',
    'tls.yml': JSON.stringify({ scenario: 'a.yml', vary: { TLS }, repeat: 2 }),
  });
  const [a, b, tls] = ['a.yml', 'b.yml', 'tls.yml'].map((name) => join(folder, name)) as [string, string, string];
  const plain = await readStudy(a);
  assert.deepEqual([plain.name, plain.plan.scenario, plain.plan.vary, plain.plan.repeat], ['a', a, {}, 5]);
  const turns = await readStudy(a, { other: b, vary: { MINE: ['', 'x'] }, detect: 0.2, args: ['-e', 'staging'] });
  const { vary, repeat, detect } = turns.plan;
  assert.deepEqual([turns.name, vary, repeat, detect], ['a-b-MINE', { scenario: [a, b], MINE: ['', 'x'] }, 20, 0.2]);
  const { scenario, args, env } = seriesOfStudy(turns, '.').commandOf({ block: 1, levels: { scenario: b, MINE: 'x' } });
  assert.deepEqual([scenario, args, env], [b, ['-e', 'staging'], { MINE: 'x' }]);
  const more = await readStudy(tls, { times: 3, vary: { workers: [1, 2] } });
  assert.deepEqual([more.name, more.plan.repeat, more.plan.vary], ['tls-workers', 3, { TLS, workers: [1, 2] }]);
  await assert.rejects(readStudy(tls, { other: a }), /is not a scenario/);
  await assert.rejects(readStudy(b, { vary: { MINE: [1, 2] } }), /no run reads this variable/);
});

it('a study reads levels of variables as text, and levels of options also as numbers', () => {
  assert.deepEqual(
    ['010', 'x', '5', 'true'].map((text) => [parseLevel('RATE', text), parseLevel('hold', text)]),
    [
      ['010', '010'],
      ['x', 'x'],
      ['5', 5],
      ['true', true],
    ],
  );
});

it('a study can vary scenarios like settings, each with its own text', async (t) => {
  const folder = fileTree(t, {
    'a.yml': '{}',
    'b.yml': '{}',
    'sizes.yml': JSON.stringify({ scenario: 'a.yml', vary: { scenario: ['a.yml', 'b.yml'] }, repeat: 2 }),
    'wrong.yml': JSON.stringify({ scenario: 'a.yml', vary: { scenario: ['a.yml', 'c.yml'] }, repeat: 2 }),
  });
  const read = () => readStudy(join(folder, 'sizes.yml'));
  const file = await read();
  const { scenario, overrides, env } = seriesOfStudy(file, 'results').commandOf({
    block: 1,
    levels: { scenario: 'b.yml' },
  });
  assert.deepEqual([scenario, overrides, env], [join(folder, 'b.yml'), {}, {}]);
  writeFileSync(join(folder, 'b.yml'), '{ "config": {} }');
  assert.notEqual((await read()).scenarioHash, file.scenarioHash);
  await assert.rejects(readStudy(join(folder, 'wrong.yml')), /vary\.scenario\[1\]: there is no file .*c\.yml/);
});

it('a study starts its server in the folder of its file, and continues after a failed run', async () => {
  const plan = { ...PLAN, servers: { chat: { ...chat, env: { TLS: 'off', MINE: '1' } } }, except: [], seed: 1 };
  const file: RequestedStudy = { name: 'tls', title: '', plan, cwd: '/f', scenarioHash: 'abc' };
  const { commandOf, next } = seriesOfStudy(file, 'results');
  const { env, server } = commandOf({ block: 1, levels: { TLS: 'on', server: 'chat' } });
  assert.deepEqual(
    [env, server],
    [
      { TLS: 'on', MINE: '1' },
      { ...plan.servers.chat, cwd: '/f' },
    ],
  );
  const ended = { number: 1, startedAt: '', seconds: 1, exitCode: 2, result: null, status: null, problem: 'refused' };
  const failed = { run: { ...ended, block: 1, levels: { TLS: 'on' } }, result: undefined };
  assert.ok('key' in (await next([failed], 0)));
});
