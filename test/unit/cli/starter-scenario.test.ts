import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { type StarterOptions, starterScenario as written } from '../../../plugin/cli/init/starter-scenario.ts';
import { readScenario } from '../../../plugin/cli/scenario-argument.ts';
import { totalArrivals } from '../../../plugin/script/load/phases.ts';
import { readSettings } from '../../../plugin/script/settings.ts';
import { STEP_KINDS } from '../../../plugin/virtual-user/steps/index.ts';
import { fileTree } from '../../helpers/file-tree.ts';
import { mistakesIn } from '../../helpers/mistakes.ts';

const starterScenario = (starter: StarterOptions) => written(starter, 'mine.yml');

const TOKEN = '0123456789abcdef';
const INSTRUMENTED: StarterOptions = {
  url: 'https://staging.example.com',
  connections: 5000,
  flow: [{ emit: ['join_room', 'capacity'] }],
  controlUrl: 'http://10.0.0.11:3200',
  publish: undefined,
  delivery: undefined,
  finding: undefined,
  processes: undefined,
};
const OTHER: StarterOptions = { ...INSTRUMENTED, flow: [{ emit: ['subscribe', 'news'] }], controlUrl: undefined };
const DELIVERY = { event: 'said', id: ['0', 'message id'], sentAt: ['0', 'at'], unusableTime: undefined };

/** @throws Error if a run would refuse the scenario */
async function checked(t: TestContext, text: string) {
  const path = join(fileTree(t, { 'mine.yml': text }), 'mine.yml');
  process.env.CAPACITY_TOKEN = TOKEN;
  t.after(() => delete process.env.CAPACITY_TOKEN);
  const script = await readScenario(path, undefined);
  assert.deepEqual(mistakesIn(script), []);
  return { script, config: readSettings(script, STEP_KINDS, process.env), flow: script.scenarios?.[0]?.flow };
}

describe('a first scenario', () => {
  it('a generated scenario measures everything for a server with instrument(io)', async (t) => {
    const text = starterScenario(INSTRUMENTED);
    const { script, config, flow } = await checked(t, text);
    assert.deepEqual([config.target, config.room], [INSTRUMENTED.url, 'capacity']);
    assert.match(text, /# {3}await instrument\(io, \{.*rooms: \['capacity'\], .* controlHost: "10\.0\.0\.11"/);
    assert.deepEqual(config.control, { urls: [INSTRUMENTED.controlUrl], token: TOKEN, tls: {} });
    assert.deepEqual(flow, [{ emit: ['join_room', 'capacity'] }, { hold: true }]);
    assert.ok(script.config.plugins?.ensure);
  });

  it('a generated scenario has placeholders for missing parts, and is valid with and without them', async (t) => {
    const text = starterScenario({ ...OTHER, flow: [{ connect: true }], finding: 'The server sent no event.' });
    const { script, flow } = await checked(t, text);
    assert.deepEqual(script.config.plugins?.['socketio-capacity'], { hold: 10 });
    assert.deepEqual(flow, [{ connect: true }, { hold: true }]);
    const filledIn = text.replace(/^( +)# (delivery:)/m, '$1$2');
    assert.equal((await checked(t, filledIn)).config.delivery?.publish?.emit.event, '<event of a client>');
  });

  it('a generated scenario lists the processes for memory and CPU', async (t) => {
    const processes = { match: '^node app\\.js( |$)' };
    const { config } = await checked(t, starterScenario({ ...OTHER, processes }));
    assert.deepEqual(config.workerSources, processes);
  });

  it('a generated scenario explains the option `inspect` if it uses the option', async (t) => {
    const processes: StarterOptions['processes'] = { pids: [4711], inspect: true };
    const text = starterScenario({ ...OTHER, processes });
    assert.deepEqual((await checked(t, text)).config.workerSources, processes);
    assert.match(text, /# `inspect` collects the garbage .* SIGUSR1 opens the inspector/);
    assert.doesNotMatch(text, /--instrumented/);
  });

  it('a generated scenario has exactly the requested connections, at a rate of at most 500/s, for every size', async (t) => {
    for (const connections of [8, 9, 10, 11, 13, 50, 97, 100, 777, 1000, 5000, 9973, 32_000, 100_000, 999_983]) {
      const { config } = await checked(t, starterScenario({ ...INSTRUMENTED, connections }));
      assert.equal(totalArrivals(config.phases), connections);
      for (const { arrivalRate = 0 } of config.phases) assert.ok(arrivalRate <= 500);
    }
  });

  it('a generated scenario treats names as text, whatever they contain', async (t) => {
    const names = [
      "\"]\n      - think: 1 # {a: 'b'} &x *y",
      '<<',
      'null',
      '2001-01-01',
      // Characters that a terminal interprets, or that an editor does not show.
      'a\u001b[31m\u0007\u0085\u009b\u202e\u2028\ufeff\u{e0041}\u0000b',
    ];
    for (const name of names) {
      const emit = [name, name, { [name]: name }];
      const connect = { auth: { [name]: name } };
      const delivery = { ...DELIVERY, event: name, id: ['0', name] };
      const publish = { event: name, args: [name] };
      const text = starterScenario({ ...OTHER, flow: [{ connect }, { emit, acknowledge: true }], publish, delivery });
      assert.doesNotMatch(text, /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      const { flow, config } = await checked(t, text);
      assert.deepEqual(flow, [{ connect }, { emit, acknowledge: true }, { hold: true }]);
      assert.deepEqual([config.delivery?.event, config.delivery?.id], [name, ['0', name]]);
      assert.deepEqual(config.delivery?.publish?.emit, publish);
    }
  });

  it('a generated scenario has its own file name in its comments, quoted for a shell', () => {
    assert.match(written(OTHER, "it's mine.yml"), /^# {3}npx artillery run 'it'\\''s mine\.yml'$/m);
  });
});
