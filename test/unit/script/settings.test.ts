import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { tellMemory } from '../../../plugin/script/options/worker-sources.ts';
import { readSettings, readWorkerSettings } from '../../../plugin/script/settings.ts';
import { STEPS } from '../../../plugin/virtual-user/steps/index.ts';
import type { CapacityError } from '../../../protocol/errors.ts';
import { hookConfig } from '../../helpers/measurements.ts';

const STOCK = { tls: false, external: true, given: { transports: undefined, compression: undefined } };

describe('settings of the hook', () => {
  it('have defaults', () => {
    const config = hookConfig();
    assert.equal(config.target, 'http://127.0.0.1:8080');
    assert.deepEqual(config.broadcasts, { count: 20, interval: 1, bytes: 1000, binary: false, byConnections: 0 });
    assert.equal(config.engine, 'socketio-capacity');
    assert.equal(config.external, false);
    assert.equal(config.control, undefined);
  });

  it('give way to the environment; an empty variable is none', () => {
    const env = { TARGET: 'ws://10.0.0.1:81', HOLD: '0', BROADCASTS: '3', PROFILE: 'embedded', RATE: '' };
    const config = hookConfig({ hold: 5, broadcasts: { bytes: 10 } }, {}, env);
    assert.equal(config.target, 'ws://10.0.0.1:81');
    assert.equal(config.hold, 0);
    assert.deepEqual(config.broadcasts, { count: 3, interval: 1, bytes: 10, binary: false, byConnections: 0 });
    assert.equal(config.profile, 'embedded');
    assert.deepEqual(config.phases, [{ duration: 2, arrivalRate: 5, rampTo: 5 }]);
  });

  it('speak TLS with a stack of the run, and with no other server', () => {
    const { target, connection } = hookConfig({}, {}, { TLS: 'on' });
    assert.deepEqual([target, connection.url], ['https://127.0.0.1:8080', 'https://127.0.0.1:8080']);
    assert.equal(connection.tls.rejectUnauthorized, false);
    assert.equal(hookConfig({}, {}, { TLS: 'off' }).target, 'http://127.0.0.1:8080');
    const control = { urls: ['http://10.0.0.1:1'], token: 'a'.repeat(16) };
    const elsewhere = [
      () => hookConfig({ control }, {}, { TLS: 'on' }),
      () => hookConfig({}, {}, { TLS: 'on', PROFILE: 'embedded' }),
      () => hookConfig({}, {}, { TLS: 'on', TARGET: 'http://10.0.0.1' }),
    ];
    for (const read of elsewhere) assert.throws(read, /environment variable\.TLS: only for the nginx of the stack/);
    assert.throws(() => hookConfig({}, {}, { TLS: 'yse' }), /environment variable\.TLS: must be on or off/);
  });

  it('ask for a Redis Cluster of the run’s own stack only, and of a size that one can have', () => {
    assert.deepEqual([hookConfig().redisNodes, hookConfig({}, {}, { REDIS_NODES: '3' }).redisNodes], [undefined, 3]);
    assert.equal(hookConfig({}, {}, { REDIS_NODES: '1', PROFILE: 'embedded' }).redisNodes, 1);
    for (const REDIS_NODES of ['0', '2', '17', 'three']) {
      assert.throws(() => hookConfig({}, {}, { REDIS_NODES }), /environment variable\.REDIS_NODES: /);
    }
    const env = { REDIS_NODES: '3' };
    const elsewhere = [
      { ...env, PROFILE: 'embedded' },
      { ...env, TARGET: 'http://10.0.0.1' },
    ];
    for (const one of elsewhere)
      assert.throws(() => hookConfig({}, {}, one), /REDIS_NODES: only for the Redis of the stack/);
    assert.throws(
      () => hookConfig({}, {}, { ...env, REDIS_URL: 'redis://10.0.0.1:1' }),
      /REDIS_NODES: not beside REDIS_URL/,
    );
  });

  it('speak TLS with control ports as with the target, except for its name and what `control` has of its own', () => {
    const urls = ['https://10.0.0.1:3200'];
    const tls = { rejectUnauthorized: false, servername: 'staging.example.com', ca: '-----BEGIN A' };
    const control = (own: object = {}) =>
      hookConfig({ control: { urls, token: 'a'.repeat(16), ...own } }, { target: 'https://10.0.0.1', tls }).control
        ?.tls;
    assert.deepEqual(control(), { rejectUnauthorized: false, ca: '-----BEGIN A' });
    const own = { ca: '-----BEGIN B', servername: 'workers.internal' };
    assert.deepEqual(control({ tls: own }), { rejectUnauthorized: false, ...own });
    assert.throws(() => control({ tls: { ca: 'missing.pem' } }), /control\.tls\.ca: expected PEM text, or a file/);
    assert.throws(() => control({ tls: { caa: '' } }), /control\.tls\.caa: unknown option, did you mean "ca"/);
  });

  it('take observers from the option or the environment, with the token of control or of the environment', () => {
    const each = [{ url: 'http://10.0.0.5:3300', layer: 'nginx' }];
    const token = 'a'.repeat(16);
    assert.equal(hookConfig().observers, undefined);
    assert.deepEqual(hookConfig({ observers: each }, {}, { CAPACITY_TOKEN: token }).observers, {
      each,
      token,
      tls: {},
    });
    const CAPACITY_OBSERVERS = 'nginx=http://10.0.0.5:3300,redis=http://10.0.0.6:3300';
    const control = { urls: ['http://10.0.0.1:1'], token };
    const both = hookConfig({ observers: each, control }, {}, { CAPACITY_OBSERVERS }).observers;
    assert.deepEqual(both?.each[1], { url: 'http://10.0.0.6:3300', layer: 'redis' });
    assert.equal(both?.token, token);
    assert.throws(() => hookConfig({ observers: each }), /CAPACITY_TOKEN: required for observers/);
    assert.throws(() => hookConfig({ observers: [{ url: 'http://a', layer: 'apache' }] }), /observers\[0\]\.layer/);
    assert.throws(() => hookConfig({}, {}, { CAPACITY_OBSERVERS: '10.0.0.5' }), /CAPACITY_OBSERVERS/);
  });

  it('have one engine: nobody knows how many arrivals another one gets', () => {
    const ours = { engine: 'socketio-capacity', weight: 3, flow: [{ hold: true }] };
    const http = { weight: 1, flow: [{ get: { url: '/' } }] };
    const mixed = (...scenarios: object[]) => hookConfig({}, {}, {}, { scenarios });
    assert.throws(() => mixed(ours, http), /scenarios\[1\]\.engine: http beside socketio-capacity: .* of its own/);
    assert.throws(() => mixed(http, ours), /scenarios\[1\]\.engine: socketio-capacity beside http/);
    assert.equal(mixed(ours, { ...http, weight: 0 }).engine, 'socketio-capacity');
    assert.equal(mixed(ours, ours).engine, 'socketio-capacity');
    const stock = { scenarios: [ours, http], _environment: 'stock' };
    assert.equal(hookConfig({}, {}, {}, stock).external, true);
  });

  it('spread connections over rooms, where the generator can', () => {
    const rooms = { name: 'capacity', count: 1, perConnection: 1, order: 'turn', seed: 1 };
    assert.deepEqual(hookConfig().rooms, rooms);
    assert.deepEqual(hookConfig({ rooms: { count: 5 } }, {}, { ROOMS: '3' }).rooms, { ...rooms, count: 3 });
    assert.throws(() => hookConfig({ rooms: { perConnection: 2 } }), /rooms\.perConnection: there are only 1 rooms/);
    assert.throws(
      () => hookConfig({ delivery: { event: 'said', id: '$.0.id' } }, {}, { ROOMS: '3' }),
      /rooms: with `delivery`/,
    );
    const elsewhere = { scenarios: [{ engine: 'socketio', flow: [] }] };
    assert.throws(() => hookConfig({}, {}, { ROOMS: '3' }, elsewhere), /rooms: only engine socketio-capacity/);
    assert.throws(() => hookConfig({ rooms: { cuont: 3 } }), /did you mean "?count/);
  });

  it('open a live view if the option or the environment requests it', () => {
    assert.equal(hookConfig().livePort, undefined);
    assert.equal(hookConfig({ live: true }).livePort, 0);
    assert.equal(hookConfig({ live: { port: 9464 } }).livePort, 9464);
    const ports = ['', '0', '1', '9464'].map((CAPACITY_LIVE) => hookConfig({}, {}, { CAPACITY_LIVE }).livePort);
    assert.deepEqual(ports, [undefined, undefined, 0, 9464]);
    assert.equal(hookConfig({ live: true }, {}, { CAPACITY_LIVE: '0' }).livePort, undefined);
    assert.throws(() => hookConfig({ live: { prot: 1 } }), /socketio-capacity\.live/);
  });

  it('read metrics of one page, or of several, each once', () => {
    const [one, other] = ['http://10.0.0.1:1/metrics', 'http://10.0.0.2:1/metrics'].map((url) => ({ url }));
    const sources = (prometheus: unknown) => hookConfig({ workers: { prometheus } }).workerSources?.prometheus;
    assert.deepEqual(sources(one), [{ ...one, labels: {} }]);
    assert.deepEqual(sources([one, { ...other, labels: { app: 'a' } }]), [
      { ...one, labels: {} },
      { ...other, labels: { app: 'a' } },
    ]);
    assert.throws(() => sources([one, one]), /workers\.prometheus: the same metrics are named twice/);
    assert.throws(() => sources([{ url: 'nonsense' }]), /workers\.prometheus\[0\]\.url: expected a URL/);
    assert.throws(() => sources({ url: 'nonsense' }), /workers\.prometheus\.url: expected a URL/);
  });

  it('know an admin UI, which tells nothing of memory', () => {
    const { workerSources } = hookConfig({ workers: { adminUi: {} } });
    assert.deepEqual([workerSources, tellMemory(workerSources)], [{ adminUi: { namespace: '/admin' } }, false]);
    assert.equal(tellMemory(hookConfig({ workers: { adminUi: {}, pids: [1] } }).workerSources), true);
    assert.throws(() => hookConfig({ workers: { adminUi: { namespace: 'admin' } } }), /expected a namespace/);
    const control = { urls: ['http://10.0.0.1:1'], token: 'a'.repeat(16) };
    assert.throws(() => hookConfig({ control, workers: { adminUi: {} } }), /workers\.adminUi: not beside `control`/);
    assert.throws(() => hookConfig({ workers: {} }), /give `pids`, .* or `adminUi`/);
  });

  it('take the token from the environment, with the addresses of either', () => {
    const control = { urls: ['http://10.0.0.1:1'], token: 'a'.repeat(16) };
    const token = 'b'.repeat(16);
    assert.deepEqual(hookConfig({ control }, {}, { CAPACITY_TOKEN: token }).control, { ...control, token, tls: {} });
    const { token: _, ...withoutToken } = control;
    const given = hookConfig({ control: withoutToken }, {}, { CAPACITY_TOKEN: token }).control;
    assert.deepEqual(given, { ...control, token, tls: {} });
    assert.throws(() => hookConfig({ control: withoutToken }), /CAPACITY_TOKEN: required for control/);
    const urls = ['http://10.0.0.2:1', 'http://10.0.0.2:2'];
    assert.deepEqual(hookConfig({ control }, {}, { CAPACITY_CONTROL: urls.join() }).control, {
      ...control,
      urls,
      tls: {},
    });
  });

  it('choose the transports: those of the option, or of the environment', () => {
    const chosen = (TRANSPORTS: string, transports?: string[]) =>
      hookConfig({}, { engines: { 'socketio-capacity': { transports } } }, { TRANSPORTS }).connection.transports;
    assert.deepEqual(chosen(''), ['websocket']);
    assert.deepEqual(chosen('', ['polling']), ['polling']);
    assert.deepEqual(chosen('default', ['polling']), ['polling', 'websocket']);
    assert.deepEqual(readWorkerSettings({ config: {} }, { TRANSPORTS: 'polling' }).given.transports, ['polling']);
    assert.throws(() => chosen('webtransport'), /TRANSPORTS/);
    const stock = { _environment: 'stock' };
    assert.throws(() => hookConfig({}, {}, { TRANSPORTS: 'default' }, stock), /TRANSPORTS: it concerns our own engine/);
  });

  it('choose compression: that of the option, or of the environment', () => {
    const chosen = (COMPRESSION: string, compression?: boolean) =>
      hookConfig({}, { engines: { 'socketio-capacity': { compression } } }, { COMPRESSION }).connection.compression;
    assert.deepEqual([chosen(''), chosen('', true), chosen('on'), chosen('off', true)], [false, true, true, false]);
    assert.equal(readWorkerSettings({ config: {} }, { COMPRESSION: 'off' }).given.compression, false);
    assert.throws(() => chosen('gzip'), /COMPRESSION: must be on or off/);
    const stock = { _environment: 'stock' };
    assert.throws(() => hookConfig({}, {}, { COMPRESSION: 'on' }, stock), /COMPRESSION: it concerns our own engine/);
  });

  it('run at another rate', () => {
    assert.deepEqual(hookConfig({}, {}, { RATE: '2' }).phases, [{ duration: 5, arrivalRate: 2, rampTo: 2 }]);
  });

  it('choose the engine: the scenario’s, or the stock one', () => {
    assert.equal(hookConfig({}, { engine: 'x' }).engine, 'socketio-capacity', 'the scenario’s own goes first');
    const script = { config: { target: 'http://a' }, scenarios: [{ engine: 'ours' }], _environment: 'stock' };
    assert.deepEqual(readWorkerSettings(script, {}), { target: 'http://a', ...STOCK, engine: 'socketio' });
    const env = { STOCK_ENGINE: 'socketio-v3', TARGET: 'http://b' };
    assert.deepEqual(readWorkerSettings(script, env), { target: 'http://b', ...STOCK, engine: 'socketio-v3' });
  });

  it('report all their problems at once, each with its place', () => {
    const broken = () =>
      hookConfig(
        { brodcasts: {}, hold: -1, drain: { quite: 1 }, control: { urls: [], token: 'short' } },
        { target: undefined, phases: [{ duration: 1 }] },
        { RATE: 'fast', CAPACITY_CONTROL: 'nowhere', STOCK_ENGINE: 'ws' },
      );
    assert.throws(broken, (error: CapacityError) => {
      assert.equal(error.code, 'CONFIG_INVALID');
      for (const place of [
        'config.plugins.socketio-capacity.brodcasts: unknown option, did you mean "broadcasts"?',
        'config.plugins.socketio-capacity.hold: ',
        'config.plugins.socketio-capacity.drain.quite: unknown option, did you mean "quiet"?',
        'config.plugins.socketio-capacity.control.urls: ',
        'config.plugins.socketio-capacity.control.token: ',
        'config.phases[0]: ',
        'config.target: expected a URL',
        'environment variable.RATE: ',
        'environment variable.CAPACITY_CONTROL: ',
        'environment variable.STOCK_ENGINE: ',
      ]) {
        assert.ok(error.message.includes(`\n  ${place}`), `${place} in ${error.message}`);
      }
      return true;
    });
  });

  it('report those of the plugin, the engine, the flow and the environment together', () => {
    const config = {
      target: 'http://127.0.0.1:1',
      phases: [{ puase: 1 }],
      engines: { 'socketio-capacity': { transport: 'websocket' } },
      plugins: { 'socketio-capacity': { hodl: 1 } },
    };
    const scenarios = [{ engine: 'socketio-capacity', flow: [{ emitt: ['a'] }] }];
    assert.throws(
      () => readSettings({ config, scenarios } as never, STEPS, { RATE: 'fast' }),
      ({ message }: CapacityError) => {
        for (const part of ['hodl', 'transport:', 'flow[0]: unknown step', 'phases[0]', 'variable.RATE']) {
          assert.ok(message.includes(part), `${part} in ${message}`);
        }
        return true;
      },
    );
  });
});

describe('how the receivers of the run connect', () => {
  const connectionOf = (socketio: object, flow: unknown[]) => {
    const engines = { 'socketio-capacity': { query: { all: '1' } } };
    const phases = [{ duration: 2, arrivalRate: 5, rampTo: 5 }];
    const config = { target: 'http://127.0.0.1:1', phases, engines, plugins: { 'socketio-capacity': {} } };
    const scenarios = [{ engine: 'socketio-capacity', socketio, flow }];
    return readSettings({ config, scenarios }, STEPS, {}).connection;
  };

  it('has the options of the scenario and of its first connect, but no templates', () => {
    const socketio = { query: 'user=ada', path: 'rooms', auth: { token: '{{ token }}' } };
    const connection = connectionOf(socketio, [{ connect: { headers: { a: 'b' } } }, { hold: true }]);
    assert.deepEqual(connection.query, { all: '1', user: 'ada' });
    assert.deepEqual([connection.path, connection.headers, connection.auth], ['/rooms/', { a: 'b' }, undefined]);
  });

  it('is refused where an option of the scenario is none', () => {
    assert.throws(
      () => connectionOf({ qeury: 'a=1' }, [{ hold: true }]),
      (error: CapacityError) => {
        assert.match(error.message, /scenarios\[0\]\.socketio\.qeury: unknown option, did you mean "query"\?/);
        return true;
      },
    );
  });
});

describe('memory over time', () => {
  const scenarios = [{ engine: 'socketio-capacity', flow: [{ think: 25 }] }];
  const ramp = { duration: 20, arrivalRate: 500, rampTo: 500 };
  const phases = [ramp, { pause: 40 }, ramp, { pause: 40 }];
  const waves = (env: NodeJS.ProcessEnv = {}, options: object = { overTime: {} }, changes: object = { scenarios }) =>
    hookConfig(options, { phases }, env, changes);

  it('has no hold and no broadcasts, and counts a wave at once', () => {
    const { overTime, hold, broadcasts, load } = waves();
    assert.deepEqual(overTime, { collect: true });
    assert.deepEqual([hold, broadcasts.count], [0, 0]);
    assert.deepEqual([load.connections, load.connectionsAtOnce, load.stays], [20_000, 10_000, false]);
    assert.equal(hookConfig().overTime, undefined);
  });

  it('gives way to the environment', () => {
    const small = waves({ CONNECTIONS: '1000', COLLECT: 'off' });
    assert.equal(small.overTime?.collect, false);
    assert.deepEqual(small.phases[0], { duration: 2, arrivalRate: 500, rampTo: 500 });
    assert.deepEqual(small.phases[1], { pause: 40 });
    assert.deepEqual(waves({ CONNECTIONS: '1000', RATE: '100' }).phases[0]?.duration, 10);
    const long = hookConfig({ overTime: { every: 20 } }, { phases: [ramp] }, { DURATION: '8h' }, { scenarios });
    assert.deepEqual(long.phases, [{ duration: 28_800, arrivalRate: 500, rampTo: 500 }]);
    assert.equal(long.load.connectionsAtOnce, 17_500, 'those of 25 s, and of 10 more for the steps');
  });

  it('refuses what needs virtual users that stay, and names every place', () => {
    const holding = { scenarios: [{ engine: 'socketio-capacity', flow: [{ hold: true }] }] };
    const wrong = () =>
      waves({ BROADCASTS: '5', CONNECTIONS: '10', DURATION: '1h' }, { overTime: {}, hold: 1 }, holding);
    assert.throws(wrong, (error: CapacityError) => {
      for (const place of ['socketio-capacity.hold', 'BROADCASTS', 'DURATION', 'scenarios[0].flow']) {
        assert.ok(error.message.includes(place), `${place}: ${error.message}`);
      }
      return true;
    });
    assert.throws(
      () => hookConfig({}, {}, { COLLECT: 'off' }),
      /COLLECT: only for scenarios with the option `overTime`/,
    );
    assert.throws(() => waves({}, { overTime: { every: 1 } }), /overTime\.every/);
  });
});
