import assert from 'node:assert/strict';
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { settingsOf } from '../../../plugin/cli/study/levels.ts';
import { parsePlan, readStudyFile } from '../../../plugin/cli/study/study-file.ts';
import { column } from '../../helpers/columns.ts';
import { ROOT } from '../../helpers/pages.ts';

/** Problems of a study on a scenario with this text, as `path: message`. */
function problemsOf(document: object, scenario: string | null = 'config: {}'): string[] {
  return parsePlan(document, scenario ?? undefined).problems.map(({ path, message }) => `${path}: ${message}`);
}

describe('a study’s file', () => {
  const plan = { scenario: '1k.yml', vary: { TLS: ['off', 'on'] }, repeat: 2 };

  it('reports all mistakes together, each with its place', () => {
    const vary = {
      TSL: ['off', 'on'],
      TLS: ['on', 'perhaps'],
      CAPACITY_ADAPTER: ['reddis', 'redis'],
      worker: [1, 2],
      warmUp: [1, 'two'],
      hold: 3,
      PROFILE: [],
      RATE: [10, null],
      BROADCASTS: [5, '5'],
      'broadcasts.bytes': [0, 10],
      results: ['here', 'there'],
    };
    const found = problemsOf({ scenario: 'none.yml', vary, repeats: 2 }, null);
    const expected = [
      /^vary\.TSL: no run reads this variable, did you mean "TLS"\?$/,
      /^vary\.TLS\[1\]: must be on or off$/,
      /^vary\.CAPACITY_ADAPTER\[0\]: .*"redis"/,
      /^vary\.worker: the plugin has no such option, did you mean "workers"\?$/,
      /^vary\.warmUp\[1\]: expected number/,
      /^vary\.hold: expected a list of levels/,
      /^vary\.PROFILE: has no levels$/,
      /^vary\.RATE\[1\]: expected text, a number, true or false$/,
      /^vary\.BROADCASTS: has the same level twice$/,
      /^vary\.broadcasts\.bytes\[0\]: /,
      /^vary\.results: the study sets it/,
      /^repeat: /,
      /^repeats: unknown option, did you mean "repeat"\?$/,
      /^scenario: there is no file none\.yml/,
    ];
    for (const line of expected)
      assert.ok(
        found.some((problem) => line.test(problem)),
        `${line} in\n${found.join('\n')}`,
      );
    assert.equal(found.length, expected.length, found.join('\n'));
  });

  it('needs two levels of something, and leaves out only combinations that exist, and never all', () => {
    const vary = { TLS: ['off', 'on'], workers: [1, 2] };
    const cases: [document: object, places: string[]][] = [
      [{ ...plan, vary: { TLS: ['on'] } }, ['vary']],
      [{ ...plan, vary: {} }, ['vary']],
      [{ ...plan, repeat: 0 }, ['repeat']],
      [{ ...plan, vary, except: [{ TLS: 'on', workers: 2 }] }, []],
      [{ ...plan, vary, except: [{ TLS: 'on' }, { TLS: 'onn' }, { RATE: 1 }] }, ['except[1]', 'except[2]']],
      [{ ...plan, except: [{ TLS: 'on' }] }, ['except']],
    ];
    for (const [document, places] of cases) {
      assert.deepEqual(column(parsePlan(document, '').problems, 'path'), places);
    }
    for (const nothing of [null, 'text', []]) assert.notDeepEqual(problemsOf(nothing as never), []);
  });

  it('accepts variables that only the scenario reads', () => {
    const study = { ...plan, vary: { GROUPS: [1, 2] } };
    assert.deepEqual(problemsOf(study, 'target: "{{ $processEnvironment.GROUPS }}"'), []);
    assert.match(problemsOf(study, 'target: "{{ $processEnvironment.GROUPS_OF }}"').join(), /no run reads/);
  });

  it('lets no name reach what other objects inherit', () => {
    problemsOf({ ...plan, vary: { '__proto__.polluted': [1, 2] } });
    assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  });

  it('is refused if it is not YAML, or not there', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'study-'));
    t.after(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'broken.yml'), 'vary: {');
    for (const name of ['broken.yml', 'none.yml'])
      await assert.rejects(readStudyFile(join(folder, name)), { code: 'CONFIG_INVALID' });
  });
});

it('a run gets capitals as variables, and options of plugin and engine in one override', () => {
  const levels = { TLS: true, RATE: 10, workers: 2, 'broadcasts.bytes': 10, 'broadcasts.count': 3 };
  const { env, overrides } = settingsOf({ ...levels, 'engine.client': 'official', server: 'chat' });
  assert.deepEqual(env, { TLS: 'true', RATE: '10' });
  assert.deepEqual(JSON.parse(JSON.stringify(overrides)), {
    config: {
      plugins: { 'socketio-capacity': { workers: 2, broadcasts: { bytes: 10, count: 3 } } },
      engines: { 'socketio-capacity': { client: 'official' } },
    },
  });
  assert.deepEqual(Object.keys(settingsOf({ TLS: 'on' }).overrides), []);
});

describe('a study with servers of its own', () => {
  const servers = { chat: { command: ['node', 'chat.mjs'], ready: 3000 } };
  const plan = { scenario: 's.yml', servers, repeat: 1 };

  it('names them in vary, with whatever variables they read', () => {
    const vary = { server: ['chat'], MY_OPTION: ['a', 'b'], 'engine.client': ['light', 'official'] };
    assert.deepEqual(problemsOf({ ...plan, vary }), []);
  });

  it('reports what it cannot start', () => {
    const vary = { server: ['chat', 'chatt'], 'engine.clientt': [1, 2], 'engine.maxPayload': ['x'] };
    const found = problemsOf({ ...plan, vary, servers: { ...servers, other: { command: [], ready: 'here' } } });
    for (const line of [
      /^vary\.server\[1\]: `servers` has none of this name, did you mean "chat"\?$/,
      /^vary\.engine\.clientt: the engine has no such option, did you mean "engine\.client"\?$/,
      /^vary\.engine\.maxPayload\[0\]: expected number/,
      /^servers\.other\.command: /,
      /^servers\.other\.ready: expected a port or an http:\/\/ URL/,
    ])
      assert.ok(
        found.some((problem) => line.test(problem)),
        `${line} in\n${found.join('\n')}`,
      );
    assert.match(problemsOf({ ...plan, vary: { TLS: ['on', 'off'] } }).join(), /^vary\.server: names none/);
  });
});

it('the pack’s studies are valid, and begin with what they ask', async () => {
  const paths = globSync('scenarios/studies/*.yml', { cwd: ROOT });
  assert.ok(paths.length > 0);
  for (const path of paths) assert.match((await readStudyFile(join(ROOT, path))).title, /^\w.*\?$/);
});
