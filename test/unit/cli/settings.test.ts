/** Tests mistakes that Artillery would ignore without a message. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { settingsOfScript } from '../../../plugin/cli/scenario-argument.ts';
import { hasThresholds } from '../../../plugin/script/ensure.ts';
import { PLUGIN_NAME, type Script } from '../../../plugin/script/script.ts';

type Changed = { config?: object; scenario?: object };

function script({ config, scenario }: Changed = {}): Script {
  return {
    config: {
      target: 'http://127.0.0.1:9',
      engines: { [PLUGIN_NAME]: {} },
      plugins: { [PLUGIN_NAME]: {}, ensure: {} },
      phases: [{ duration: 2, arrivalRate: 10, rampTo: 10 }],
      ...config,
    },
    scenarios: [{ engine: PLUGIN_NAME, flow: [{ connect: true }, { hold: true }], ...scenario }],
  } as Script;
}

const plugins = { [PLUGIN_NAME]: {} };
const phase = (more: object) => ({ config: { phases: [{ duration: 2, ...more }] } });
const ensure = (more: object) => ({ config: { ensure: more } });
const threshold = (metric: string) => ensure({ thresholds: [{ [metric]: 1 }] });
const condition = (expression: string) => ensure({ conditions: [{ expression }] });

/** Place of the mistake, and the suggested word. */
const MISTAKES: [place: string, meant: string, changed: Changed][] = [
  ['config.plugins.socketio-capacty', '"socketio-capacity"', { config: { plugins: { 'socketio-capacty': {} } } }],
  ['config.engines.socketio-capcity', '"socketio-capacity"', { config: { engines: { 'socketio-capcity': {} } } }],
  ['config.engines', '`socketio-capacity: {}`', { config: { engines: undefined } }],
  ['scenarios[0].engine', '"socketio-capacity"', { scenario: { engine: 'socketio-capasity' } }],
  ['scenarios[0].engine', 'HTTP', { scenario: { engine: undefined } }],
  ['config.phases[0].arivalRate', '"arrivalRate"', phase({ arivalRate: 10, rampTo: 10 })],
  ['config.phases[0].users', '', phase({ arrivalRate: 10, users: 10 })],
  ['config.ensure.thresholds[0]', '"connections.failed"', threshold('conections.failed')],
  ['config.ensure.conditions[0].expression', 'unknown metric', condition('socketio.received.everywhere >= 1')],
  ['config.ensure', '', { config: { plugins, ensure: { maxErrorRate: 0 } } }],
];

for (const [place, suggestion, changed] of MISTAKES) {
  it(`refuses a scenario with ${JSON.stringify(changed)}`, () => {
    const isRefusal = ({ code, message }: Error & { code?: string }) =>
      code === 'CONFIG_INVALID' &&
      message.split('\n').some((line) => line.startsWith(`  ${place}: `) && line.includes(suggestion));
    assert.throws(() => settingsOfScript(script(changed), {}), isRefusal);
  });
}

it('ignores options of other plugins, and metrics of Artillery and of its users', () => {
  const ensure = {
    maxErrorRate: 1,
    thresholds: [{ 'vusers.failed': 1 }, { 'http.response_time.p99': 5 }, { 'checkout.sold': 5 }],
    conditions: [
      { expression: 'socketio.disconnect.transport_close < 1 and connections.connect_time.p99 < 100' },
      { expression: 'vusers.session_length.p95 < 1000 or memory.worker.bytes_per_connection < 1' },
      { expression: 'not (connections.failed * 2 >= 1000) or connections.rate in (900, 901)' },
      { expression: 'plugins.metrics-by-endpoint./users.codes.200 > 1' },
      { expression: 'vusers.created_by_name.join it > 1' },
    ],
  };
  const { load } = settingsOfScript(script({ config: { ensure, slack: {}, payload: { path: 'a.csv' } } }), {});
  assert.equal(load.connections, 20);
});

it('finds thresholds of a scenario in `config.ensure` and in `config.plugins.ensure`', () => {
  const conditions = [{ expression: 'connections.failed < 1' }];
  for (const [config, expected] of [
    [{}, false],
    [{ plugins: { ensure: {} } }, false],
    [{ plugins: { ensure: true }, ensure: { conditions: null, thresholds: [] } }, false],
    [{ plugins: { ensure: {} }, ensure: { conditions } }, true],
    [{ plugins: { ensure: { thresholds: [{ 'connections.failed': 1 }] } } }, true],
    [{ plugins: { ensure: {} }, ensure: { maxErrorRate: 0 } }, true],
  ] as const) {
    assert.equal(hasThresholds({ config } as never), expected, JSON.stringify(config));
  }
});
