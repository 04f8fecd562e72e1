/** What is refused before a run, with its place: settings that are wrong, or not right together. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readScenario } from '../../../plugin/cli/scenario.ts';
import type { CapacityError } from '../../../protocol/errors.ts';
import { hookConfig } from '../../helpers/measurements.ts';

const ENGINE = 'socketio-capacity';
const CONTROL = { urls: ['http://10.0.0.1:1'], token: 'a'.repeat(16) };
const RECONNECTING = { engines: { [ENGINE]: { reconnection: true } } };
const STOCK = { _environment: 'stock' };
const OURS = { engine: ENGINE, weight: 3, flow: [{ hold: true }] };
const HTTP = { weight: 1, flow: [{ get: { url: '/' } }] };
const SAID = { event: 'said', id: '$.0.id' };
const FAULT = { kind: 'kill-worker', at: 5 };
const PAGE = { url: 'http://10.0.0.1:1/metrics' };
const leaving = { scenarios: [{ engine: ENGINE, flow: [{ think: 1 }] }] };

type Case = [refused: RegExp, options?: object, env?: NodeJS.ProcessEnv, config?: object, changes?: object];

const CASES: Record<string, Case[]> = {
  variables: [
    [/environment variable\.TLS: must be on or off/, {}, { TLS: 'yse' }],
    [/variable\.TLS: only for the nginx of the stack/, { control: CONTROL }, { TLS: 'on' }],
    [/variable\.TLS: only for the nginx of the stack/, {}, { TLS: 'on', PROFILE: 'embedded' }],
    [/variable\.TLS: only for the nginx of the stack/, {}, { TLS: 'on', TARGET: 'http://10.0.0.1' }],
    ...['0', '2', '17', 'three'].map((REDIS_NODES): Case => [/variable\.REDIS_NODES: /, {}, { REDIS_NODES }]),
    [/REDIS_NODES: only for the Redis of the stack/, {}, { REDIS_NODES: '3', PROFILE: 'embedded' }],
    [/REDIS_NODES: only for the Redis of the stack/, {}, { REDIS_NODES: '3', TARGET: 'http://10.0.0.1' }],
    [/REDIS_NODES: not beside REDIS_URL/, {}, { REDIS_NODES: '3', REDIS_URL: 'redis://10.0.0.1:1' }],
    [/TRANSPORTS/, {}, { TRANSPORTS: 'webtransport' }],
    [/TRANSPORTS: it concerns our own engine/, {}, { TRANSPORTS: 'default' }, {}, STOCK],
    [/COMPRESSION: must be on or off/, {}, { COMPRESSION: 'gzip' }],
    [/COMPRESSION: it concerns our own engine/, {}, { COMPRESSION: 'on' }, {}, STOCK],
  ],
  'control and layers': [
    [/control\.tls\.ca: expected PEM text, or a file/, { control: { ...CONTROL, tls: { ca: 'missing.pem' } } }],
    [/control\.tls\.caa: unknown option, did you mean "ca"/, { control: { ...CONTROL, tls: { caa: '' } } }],
    [/CAPACITY_TOKEN: required for control/, { control: { urls: CONTROL.urls } }],
    [/layers\.apache: /, { layers: { apache: { match: 'a' } } }],
    [/layers\.nginx: give `pids`/, { layers: { nginx: {} } }],
    [/layers\.nginx: give one of/, { layers: { nginx: { pids: [1], match: 'a' } } }],
  ],
  'the engine of a run': [
    [/scenarios\[1\]\.engine: http beside socketio-capacity: .* of its own/, {}, {}, {}, { scenarios: [OURS, HTTP] }],
    [/scenarios\[1\]\.engine: socketio-capacity beside http/, {}, {}, {}, { scenarios: [HTTP, OURS] }],
    [
      /scenarios\[0\]\.socketio\.qeury: unknown option, did you mean "query"\?/,
      {},
      {},
      {},
      { scenarios: [{ ...OURS, socketio: { qeury: 'a=1' } }] },
    ],
  ],
  rooms: [
    [/rooms\.perConnection: there are only 1 rooms/, { rooms: { perConnection: 2 } }],
    [/rooms: with `delivery`/, { delivery: SAID }, { ROOMS: '3' }],
    [/rooms: only engine socketio-capacity/, {}, { ROOMS: '3' }, {}, { scenarios: [{ engine: 'socketio', flow: [] }] }],
    [/did you mean "?count/, { rooms: { cuont: 3 } }],
  ],
  'the live view': [[/socketio-capacity\.live/, { live: { prot: 1 } }]],
  'what tells of a server without a control port': [
    [/workers\.prometheus: the same metrics are named twice/, { workers: { prometheus: [PAGE, PAGE] } }],
    [/workers\.prometheus\[0\]\.url: expected a URL/, { workers: { prometheus: [{ url: 'nonsense' }] } }],
    [/workers\.prometheus\.url: expected a URL/, { workers: { prometheus: { url: 'nonsense' } } }],
    [/expected a namespace/, { workers: { adminUi: { namespace: 'admin' } } }],
    [/workers\.adminUi: not beside `control`/, { control: CONTROL, workers: { adminUi: {} } }],
    [/give `pids`, .* or `adminUi`/, { workers: {} }],
  ],
  'an event of the server’s own': [
    [
      /delivery\.event[\s\S]*delivery\.id: expected a path into the arguments such as \$\.0\.id[\s\S]*delivery\.sentAt[\s\S]*delivery\.publish\.emit: expected \[event, \.\.\.arguments\][\s\S]*evry[\s\S]*every/,
      { delivery: { event: '', id: 'id', sentAt: '$.at', publish: { emit: [{ id: 1 }], evry: 1 } } },
    ],
    [/delivery: only engine socketio-capacity tells who received what/, { delivery: SAID }, {}, {}, STOCK],
  ],
  'a planned fault': [
    [/fault: .*reconnection: true/, { fault: FAULT }],
    [
      /broadcasts\.byConnections: not with `fault`/,
      { fault: FAULT, broadcasts: { byConnections: 6 } },
      {},
      RECONNECTING,
    ],
    [/fault: needs a `kind`, or a `command`/, { fault: {} }, {}, RECONNECTING],
    [/fault\.command: only for/, { fault: { ...FAULT, command: ['x'] } }, {}, RECONNECTING],
    [/fault\.kind: only for the stack/, { fault: FAULT, control: CONTROL }, {}, RECONNECTING],
    [/no nginx/, { fault: { kind: 'reload-nginx' }, profile: 'embedded' }, {}, RECONNECTING],
    [/REDIS_URL/, { fault: { kind: 'restart-redis' } }, { REDIS_URL: 'redis://127.0.0.1:1' }, RECONNECTING],
    [/fault\.at: the last broadcast is at 4 s/, { fault: FAULT }, { BROADCASTS: '5' }, RECONNECTING],
    [/fault\.kind/, { fault: { kind: 'reboot' } }, {}, RECONNECTING],
    [/fault\.att.*at/s, { fault: { kind: 'kill-worker', att: 3 } }, {}, RECONNECTING],
    [/must stay: end the flow with `hold: true`/, { fault: FAULT }, {}, RECONNECTING, leaving],
  ],
  'memory over time': [
    [/COLLECT: only for scenarios with the option `overTime`/, {}, { COLLECT: 'off' }],
    [/overTime\.every/, { overTime: { every: 1 } }, {}, {}, leaving],
    [
      /socketio-capacity\.hold.*BROADCASTS.*DURATION.*scenarios\[0\]\.flow/s,
      { overTime: {}, hold: 1 },
      { BROADCASTS: '5', CONNECTIONS: '10', DURATION: '1h' },
    ],
  ],
  'everything at once': [
    [
      /socketio-capacity\.brodcasts: unknown option, did you mean "broadcasts"\?/,
      { brodcasts: {}, hold: -1 },
      { RATE: 'fast' },
    ],
  ],
};

for (const [subject, cases] of Object.entries(CASES)) {
  describe(subject, () => {
    for (const [refused, options, env, config, changes] of cases) {
      it(`is refused: ${refused.source.slice(0, 60)}, ${JSON.stringify([options, env]).slice(0, 60)}`, () => {
        assert.throws(
          () => hookConfig(options, config, env, changes),
          ({ code, message }: CapacityError) => {
            assert.equal(code, 'CONFIG_INVALID');
            assert.match(message, refused);
            return true;
          },
        );
      });
    }
  });
}

it('mistakes of plugin, engine, flow, phases, target and environment are reported together, each with its place', () => {
  const options = { brodcasts: {}, hold: -1, drain: { quite: 1 }, control: { urls: [], token: 'short' } };
  const config = {
    target: undefined,
    phases: [{ duration: 1 }, { puase: 1 }],
    engines: { [ENGINE]: { transport: 'websocket' } },
  };
  const env = { RATE: 'fast', CAPACITY_CONTROL: 'nowhere', STOCK_ENGINE: 'ws' };
  const changes = { scenarios: [{ engine: ENGINE, flow: [{ emitt: ['a'] }] }] };
  assert.throws(
    () => hookConfig(options, config, env, changes),
    ({ message }: CapacityError) => {
      for (const place of [
        'config.plugins.socketio-capacity.brodcasts: unknown option, did you mean "broadcasts"?',
        'config.plugins.socketio-capacity.hold: ',
        'config.plugins.socketio-capacity.drain.quite: unknown option, did you mean "quiet"?',
        'config.plugins.socketio-capacity.control.urls: ',
        'config.plugins.socketio-capacity.control.token: ',
        'config.phases[0]: ',
        'config.phases[1]: ',
        'config.target: expected a URL',
        'config.engines.socketio-capacity.transport: unknown option, did you mean "transports"?',
        'scenarios[0].flow[0]: unknown step',
        'environment variable.RATE: ',
        'environment variable.CAPACITY_CONTROL: ',
        'environment variable.STOCK_ENGINE: ',
      ]) {
        assert.ok(message.includes(`\n  ${place}`), `${place} in ${message}`);
      }
      return true;
    },
  );
});

describe('a script that is out of bounds', () => {
  let bomb: unknown = 'x';
  for (let level = 0; level < 9; level++) bomb = Array(10).fill(bomb);
  let deep: unknown = [];
  for (let level = 0; level < 300; level++) deep = [deep];
  const circle: unknown[] = [];
  circle.push(circle);
  const flow = (value: unknown) => ({ scenarios: [{ engine: ENGINE, flow: [{ emit: ['x', value] }] }] });
  const named = (text: string) => ({ engines: { [ENGINE]: JSON.parse(text) } });

  for (const [what, refused, config, changes] of [
    ['aliases of aliases', /scenarios\[0\]\.flow\[0\]\.emit: more than 1000000 values/, {}, flow(bomb)],
    ['a deep one', /scenarios\[0\]\.flow\[0\]\.emit: nested more than 200 levels deep/, {}, flow(deep)],
    ['one that contains itself', /nested more than 200 levels deep/, {}, flow(circle)],
    [
      'a name that every object inherits',
      /config\.engines\.socketio-capacity\.__proto__: __proto__ cannot be a name/,
      named('{"__proto__": {"a": 1}}'),
      {},
    ],
    ['the same, deeper', /__proto__ cannot be a name/, named('{"auth": {"__proto__": {"a": 1}}}'), {}],
    ['an inherited name', /socketio-capacity\.constructor: unknown option/, named('{"constructor": 1}'), {}],
  ] as const) {
    it(`is refused: ${what}`, () => {
      assert.throws(() => hookConfig({}, config, {}, changes), { code: 'CONFIG_INVALID', message: refused });
    });
  }

  it('is refused by the commands before anything walks over it', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'bounds-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const tenOf = (name: string) => `[${Array(10).fill(`*${name}`).join()}]`;
    const levels = Array.from({ length: 20 }, (_, level) => `l${level + 1}: &l${level + 1} ${tenOf(`l${level}`)}`);
    const path = join(folder, 'bomb.yml');
    writeFileSync(path, ['l0: &l0 x', ...levels, 'config: { target: *l20 }'].join('\n'));
    await assert.rejects(readScenario(path, undefined), {
      code: 'CONFIG_INVALID',
      message: /more than 1000000 values/,
    });
  });

  it('is none for the rows of its CSV files', () => {
    const payload = [{ path: 'users.csv', data: Array.from({ length: 400_000 }, (_, row) => [row, 'name', 'x']) }];
    assert.equal(hookConfig({}, { payload }).load.connections, 10);
  });
});
