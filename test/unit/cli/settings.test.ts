/** Mistakes with which Artillery would run a scenario, and say nothing of it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settingsOf } from '../../../plugin/cli/scenario.ts';
import { PLUGIN, type Script } from '../../../plugin/script/script.ts';

const ENGINE = PLUGIN;

type Changed = { config?: object; scenario?: object; root?: object };

function script({ config, scenario, root }: Changed = {}): Script {
  return {
    config: {
      target: 'http://127.0.0.1:9',
      engines: { [ENGINE]: {} },
      plugins: { [PLUGIN]: {}, ensure: {} },
      phases: [{ duration: 2, arrivalRate: 10, rampTo: 10 }],
      ...config,
    },
    scenarios: [{ engine: ENGINE, flow: [{ connect: true }, { hold: true }], ...scenario }],
    ...root,
  } as Script;
}

const thresholds = (...expressions: unknown[]) => ({ config: { ensure: { thresholds: expressions } } });
const condition = (expression: string) => ({ config: { ensure: { conditions: [{ expression }] } } });

const MISTAKES: [found: RegExp, changed: Changed][] = [
  [
    /config\.plugins\.socketio-capacty: .*did you mean "socketio-capacity"/,
    { config: { plugins: { 'socketio-capacty': {} } } },
  ],
  [/config\.plugin: .*did you mean "plugins"/, { config: { plugins: undefined, plugin: { [PLUGIN]: {} } } }],
  [/config\.engines\.socketio-capcity: .*did you mean/, { config: { engines: { 'socketio-capcity': {} } } }],
  [/config\.engines: .*write `socketio-capacity: \{\}`/, { config: { engines: undefined } }],
  [/scenarios\[0\]\.engine: .*did you mean "socketio-capacity"/, { scenario: { engine: 'socketio-capasity' } }],
  [/scenarios\[0\]\.engine: without it, Artillery sends HTTP/, { scenario: { engine: undefined } }],
  [/scenarios\[0\]\.wieght: .*did you mean "weight"/, { scenario: { wieght: 2 } }],
  [/ {2}confg: .*did you mean "config"/, { root: { confg: {} } }],
  [
    /config\.phases\[0\]\.arivalRate: .*did you mean "arrivalRate"/,
    { config: { phases: [{ duration: 2, arivalRate: 10, rampTo: 10 }] } },
  ],
  [/config\.phases\[0\]\.users: /, { config: { phases: [{ duration: 2, arrivalRate: 10, users: 10 }] } }],
  [/config\.ensure\.treshold: .*did you mean "thresholds"/, { config: { ensure: { treshold: [] } } }],
  [/config\.ensure\.thresholds: expected a list/, { config: { ensure: { thresholds: { 'connections.failed': 1 } } } }],
  [
    /thresholds\[0\]: unknown metric conections\.failed, did you mean "connections\.failed"/,
    thresholds({ 'conections.failed': 1 }),
  ],
  [/unknown metric connections\.connect_time\.p98, did you mean/, thresholds({ 'connections.connect_time.p98': 1 })],
  [
    /conditions\[0\]\.expression: unknown metric socketio\.received\.everywhere/,
    condition('socketio.received.everywhere >= 1'),
  ],
  [/unknown operator =>, did you mean ">="/, condition('socketio.delivery.coverage => 1')],
  [/config\.ensure: nothing evaluates it/, { config: { plugins: { [PLUGIN]: {} }, ensure: { maxErrorRate: 0 } } }],
];

describe('the settings of a scenario', () => {
  for (const [found, changed] of MISTAKES) {
    it(`refuse ${found.source}`, () => {
      assert.throws(() => settingsOf(script(changed), {}), { code: 'CONFIG_INVALID', message: found });
    });
  }

  it('leave alone what is another plugin’s, and metrics of Artillery and of its users', () => {
    const ensure = {
      maxErrorRate: 1,
      thresholds: [{ 'vusers.failed': 1 }, { 'http.response_time.p99': 5 }, { 'checkout.sold': 5 }],
      conditions: [
        { expression: 'socketio.disconnect.transport_close < 1 and connections.connect_time.p99 < 100' },
        { expression: 'vusers.session_length.p95 < 1000 or memory.worker.bytes_per_connection < 1' },
      ],
    };
    assert.equal(
      settingsOf(script({ config: { ensure, slack: {}, payload: { path: 'a.csv' } } }), {}).load.connections,
      20,
    );
  });
});
