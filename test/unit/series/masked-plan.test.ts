import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runSeries } from '../../../plugin/series/series.ts';
import { maskStudyPlan, studySeries } from '../../../plugin/series/study-series.ts';
import type { StudyPlan } from '../../../protocol/documents/study-schema.ts';
import { fakeArtillery } from '../../helpers/fake-artillery.ts';

const PLAN: StudyPlan = {
  scenario: '1k.yml',
  vary: {
    LOGIN_TOKEN: ['Canary-a1', 'Canary-b2'],
    REDIS_URL: ['redis://:Canary-c3@h1:1', 'redis://:Canary-d4@h1:1'],
    TLS: ['off', 'on'],
    'engine.tls.rejectUnauthorized': [true, false],
    workers: [1, 2],
  },
  servers: {
    own: {
      command: ['node', 'own.js', '--password', 'Canary-e5'],
      ready: 'http://u:Canary-f6@h/',
      env: { MY_TOKEN: 'Canary-i9' },
    },
  },
  except: [{ LOGIN_TOKEN: 'Canary-b2', TLS: 'on' }],
  repeat: 1,
  seed: 1,
};

test('replaces values of a study plan that are credentials by numbers, and restores them', () => {
  const { shown, realOf } = maskStudyPlan(PLAN);
  assert.doesNotMatch(JSON.stringify(shown), /Canary/);
  const { vary, except, servers } = shown;
  assert.deepEqual(vary.LOGIN_TOKEN, ['*** 1', '*** 2']);
  assert.deepEqual(vary.REDIS_URL, ['redis://***@h1:1 1', 'redis://***@h1:1 2']);
  assert.deepEqual([vary.TLS, vary.workers], [PLAN.vary.TLS, PLAN.vary.workers]);
  assert.deepEqual(vary['engine.tls.rejectUnauthorized'], [true, false]);
  assert.deepEqual(except, [{ LOGIN_TOKEN: '*** 2', TLS: 'on' }]);
  assert.deepEqual(servers.own?.command, ['node', 'own.js', '--password', '***']);
  assert.deepEqual(servers.own?.env, { MY_TOKEN: '***' });
  const levels = { LOGIN_TOKEN: '*** 2', REDIS_URL: 'redis://***@h1:1 1', TLS: 'off', workers: 2 };
  const real = { LOGIN_TOKEN: 'Canary-b2', REDIS_URL: 'redis://:Canary-c3@h1:1', TLS: 'off', workers: 2 };
  assert.deepEqual(realOf(levels), real);
});

test('passes credentials of a plan to the runs, and keeps them out of command lines and documents', async (t) => {
  const { folder: root, artillery } = fakeArtillery(
    t,
    `const seen = [process.env.LOGIN_TOKEN, process.argv.slice(2), readFileSync('/proc/self/cmdline', 'utf8')];
     writeFileSync(join(__dirname, 'seen-' + process.pid), JSON.stringify(seen));
     leave();`,
  );
  const folder = join(root, 'series');
  const args = ['--variables', '{"password":"Canary-g7"}'];
  const plan: StudyPlan = { ...PLAN, vary: { LOGIN_TOKEN: ['Canary-a1', 'Canary-b2'] }, servers: {}, except: [], args };
  const overrides = { config: { engines: { x: { auth: { token: 'Canary-h8' } } } } } as object;
  const series = studySeries({
    ...{ folder, name: 'x', title: '', plan, scenarioHash: '0' },
    commandOf: ({ LOGIN_TOKEN }) => ({
      scenario: '1k.yml',
      args,
      overrides,
      env: { LOGIN_TOKEN: String(LOGIN_TOKEN) },
    }),
  });
  const progress: string[] = [];
  const { signal } = new AbortController();
  await runSeries(series, { artillery, signal, print: (text) => progress.push(text) });
  const seen = globSync('seen-*', { cwd: root }).map((name) => JSON.parse(readFileSync(join(root, name), 'utf8')));
  assert.deepEqual(seen.map(([token]) => token).sort(), ['Canary-a1', 'Canary-b2']);
  for (const [, given, commandLine] of seen) {
    assert.deepEqual(given, ['run', ...args, '--overrides', JSON.stringify(overrides), '1k.yml']);
    assert.doesNotMatch(commandLine, /Canary/);
  }
  const documents = globSync('study.*', { cwd: folder });
  assert.equal(documents.length, 3);
  for (const name of documents) assert.doesNotMatch(readFileSync(join(folder, name), 'utf8'), /Canary/, name);
  assert.doesNotMatch(progress.join('\n'), /Canary/);
});
