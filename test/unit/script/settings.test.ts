/** Tests settings from options, environment and flow. refused.test.ts tests refused settings. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sourcesByLayer } from '../../../plugin/script/options/worker-sources.ts';
import { hookConfig } from '../../helpers/measurements.ts';

const ENGINE = 'socketio-capacity';
const CONTROL = { urls: ['http://10.0.0.1:1'], token: 'a'.repeat(16) };
const RAMP = { duration: 2, arrivalRate: 5, rampTo: 5 };
const engineOptions = (options: object) => ({ engines: { [ENGINE]: options } });
const flowOf = (...flow: unknown[]) => ({ scenarios: [{ engine: ENGINE, flow }] });

describe('settings of a run', () => {
  it('the settings of a run have defaults, and can be copied to another thread', () => {
    const settings = hookConfig();
    assert.partialDeepStrictEqual(settings, {
      ...{ target: 'http://127.0.0.1:8080', engine: ENGINE, external: false, share: { hosts: 1 } },
      broadcasts: { count: 20, interval: 1, bytes: 1000, binary: false },
      rooms: { name: 'capacity', count: 1, perConnection: 1, order: 'turn', seed: 1 },
    });
    assert.deepEqual([settings.control, settings.layers], [undefined, undefined]);
    assert.deepEqual(structuredClone(settings), settings);
  });

  it('a non-empty environment variable overrides the setting of a run', () => {
    const env = { TARGET: 'ws://10.0.0.1:81', HOLD: '0', BROADCASTS: '3', RATE: '', ROOMS: '3' };
    const options = { hold: 5, broadcasts: { bytes: 10 }, rooms: { count: 5 } };
    assert.partialDeepStrictEqual(hookConfig(options, {}, env), {
      ...{ target: 'ws://10.0.0.1:81', hold: 0, stack: undefined, phases: [RAMP] },
      ...{ broadcasts: { count: 3, bytes: 10 }, rooms: { count: 3 } },
    });
    assert.deepEqual(hookConfig({}, {}, { RATE: '2' }).phases, [{ duration: 5, arrivalRate: 2, rampTo: 2 }]);
    assert.equal(hookConfig({}, {}, { REDIS_NODES: '3' }).redisNodes, 3);
  });

  it('settings accept numbers and booleans as text, as templates produce them', () => {
    const { workerSources, layers, hold, broadcasts, livePort } = hookConfig({
      ...{ hold: '5', broadcasts: { count: '3', binary: 'true' }, workers: { pids: ['12', 13] }, live: { port: '0' } },
      layers: { nginx: { pids: '14 15\n16' }, redis: { pids: 17 } },
    });
    assert.deepEqual([hold, broadcasts.count, broadcasts.binary, livePort], [5, 3, true, 0]);
    assert.deepEqual(
      [workerSources, layers],
      [{ pids: [12, 13] }, { nginx: { pids: [14, 15, 16] }, redis: { pids: [17] } }],
    );
    for (const wrong of [{ hold: 'soon' }, { workers: { pids: ['12a'] } }, { workers: { pids: '0' } }, { hold: ' ' }])
      assert.throws(() => hookConfig(wrong), { code: 'CONFIG_INVALID' });
  });

  it('measures the bundled deployment only if the scenario has `stack` and its target is that address', () => {
    const portOf = (options: object, config: object = {}, env: NodeJS.ProcessEnv = {}) =>
      hookConfig(options, { target: 'http://127.0.0.1:8080', ...config }, env).stack?.port;
    const stack = {};
    assert.equal(portOf({ stack }), 8080);
    assert.equal(portOf({ stack: { port: 9000 } }, { target: 'ws://127.0.0.1:9000/chat' }), 9000);
    assert.equal(portOf({}), undefined);
    for (const target of [
      'http://localhost:3000',
      'http://127.0.0.5:8080',
      'http://[::1]:8080',
      'https://127.0.0.1:8080',
    ])
      assert.equal(portOf({ stack }, { target }), undefined, target);
    for (const TARGET of ['http://127.0.0.5:3999', 'http://127.0.0.1:8080'])
      assert.equal(portOf({ stack }, {}, { TARGET }), undefined, TARGET);
    for (const own of [{ control: CONTROL }, { workers: { pids: [1] } }, { layers: { nginx: { match: 'nginx' } } }])
      assert.equal(portOf({ stack, ...own }), undefined, Object.keys(own).join());
    const moved = hookConfig({}, {}, { STACK_PORT: '9001', PROFILE: 'embedded' });
    assert.partialDeepStrictEqual(moved, {
      target: 'http://127.0.0.1:9001',
      stack: { port: 9001 },
      profile: 'embedded',
    });
  });

  it('measures the bundled deployment over TLS if TLS is on', () => {
    const target = 'https://127.0.0.1:8080';
    const connection = { url: target, tls: { rejectUnauthorized: false } };
    assert.partialDeepStrictEqual(hookConfig({}, {}, { TLS: 'on' }), { target, connection });
    assert.equal(hookConfig({}, {}, { TLS: 'off' }).target, 'http://127.0.0.1:8080');
  });

  it('uses the engine’s TLS options for control ports, except for the server name and options in `control`', () => {
    const tls = { rejectUnauthorized: false, servername: 'staging.example.com', ca: '-----BEGIN A' };
    const control = (own: object = {}) =>
      hookConfig({ control: { ...CONTROL, ...own } }, { target: 'https://10.0.0.1', tls }).control?.tls;
    assert.deepEqual(control(), { rejectUnauthorized: false, ca: '-----BEGIN A' });
    const own = { ca: '-----BEGIN B', servername: 'workers.internal' };
    assert.deepEqual(control({ tls: own }), { rejectUnauthorized: false, ...own });
  });

  it('reads control ports and their token from the option or the environment', () => {
    const control = (option: object, env: NodeJS.ProcessEnv) => hookConfig({ control: option }, {}, env).control;
    const { urls } = CONTROL;
    const token = 'b'.repeat(16);
    assert.deepEqual(control({ urls }, { CAPACITY_TOKEN: token }), { urls, token, tls: {} });
    const others = ['http://10.0.0.2:1', 'http://10.0.0.2:2'];
    assert.deepEqual(control(CONTROL, { CAPACITY_CONTROL: others.join() }), { ...CONTROL, urls: others, tls: {} });
  });

  it('without a control port, the settings contain the configured sources for workers, proxy and Redis', () => {
    const url = 'http://10.0.0.5:9256/metrics';
    const layers = { nginx: { match: 'nginx: master' }, redis: { prometheus: { url } } };
    assert.deepEqual(sourcesByLayer(hookConfig({ layers, workers: { pids: [1] } })), {
      worker: { pids: [1] },
      nginx: { match: 'nginx: master' },
      redis: { prometheus: [{ url, labels: {} }] },
    });
  });

  it('opens a live view if the option or the environment requests it', () => {
    const port = (live: unknown = false, CAPACITY_LIVE = '') => hookConfig({ live }, {}, { CAPACITY_LIVE }).livePort;
    assert.deepEqual([port(), port(true), port({ port: 9464 })], [undefined, 0, 9464]);
    assert.deepEqual([port(false, '1'), port(false, '9464'), port(true, '0')], [0, 9464, undefined]);
  });

  it('reads transports and compression from the option or the environment', () => {
    const connection = (env: NodeJS.ProcessEnv, options: object = {}) => {
      const { transports, compression } = hookConfig({}, engineOptions(options), env).connection;
      return [transports, compression];
    };
    const polling = { transports: ['polling'], compression: true };
    assert.deepEqual(connection({ TRANSPORTS: '', COMPRESSION: '' }), [['websocket'], false]);
    assert.deepEqual(connection({}, polling), [['polling'], true]);
    const bothSettings = { TRANSPORTS: 'default', COMPRESSION: 'off' };
    assert.deepEqual(connection(bothSettings, polling), [['polling', 'websocket'], false]);
  });

  it('the settings use the engine of the scenario, and do not check options of another engine', () => {
    const ownScenario = { engine: ENGINE, flow: [{ hold: true }] };
    const engineOf = (...scenarios: object[]) => hookConfig({}, { engine: 'x' }, {}, { scenarios }).engine;
    assert.deepEqual(
      [engineOf(ownScenario, ownScenario), engineOf(ownScenario, { weight: 0, flow: [] })],
      [ENGINE, ENGINE],
    );
    const other = { scenarios: [{ engine: 'socketio-v3', flow: [{ hold: true }] }] };
    const config = { socketio: { forceNew: true, path: 'rooms', query: 7 } };
    assert.partialDeepStrictEqual(hookConfig({}, config, {}, other), {
      ...{ engine: 'socketio-v3', external: true, engineOptions: undefined },
      connection: { path: '/rooms/', query: {} },
    });
  });

  it('connects the run’s receivers with the options of the scenario and its first connect step', () => {
    const socketio = { query: 'user=ada', path: 'rooms', auth: { token: '{{ $uuid }}' } };
    const flow = [{ connect: { headers: { a: 'b' } } }, { hold: true }];
    const changes = { scenarios: [{ engine: ENGINE, socketio, flow }] };
    const { connection } = hookConfig({}, engineOptions({ query: { all: '1' } }), {}, changes);
    assert.deepEqual(connection.query, { all: '1', user: 'ada' });
    assert.deepEqual([connection.path, connection.headers, connection.auth], ['/rooms/', { a: 'b' }, undefined]);
  });

  it('the variable CONNECTIONS scales the phases of a scenario with a planned fault', () => {
    const faultOf = (fault: object, options: object = {}, env: NodeJS.ProcessEnv = {}) =>
      hookConfig({ fault, ...options }, engineOptions({ reconnection: true }), env);
    assert.deepEqual(faultOf({ kind: 'drop-connections' }).fault, { kind: 'drop-connections', at: 10.5 });
    const { fault } = faultOf({ command: ['true'] }, { control: CONTROL });
    assert.deepEqual(fault, { kind: 'command', command: ['true'], at: 10.5 });
    assert.equal(faultOf({ kind: 'kill-worker', at: 5 }, {}, { CONNECTIONS: '77' }).load.connections, 77);
  });
});

it('parses the paths of a user-defined event, and computes the duration of publishing or listening', () => {
  const said = { event: 'said', id: '$.0.id' };
  const emit = ['say', { id: '$id' }];
  assert.deepEqual(hookConfig({ delivery: { ...said, sentAt: 'first argument', publish: { emit } } }).delivery, {
    event: 'said',
    id: ['0', 'id'],
    sentAt: ['0'],
    publish: { emit: { event: 'say', args: [{ id: '$id' }] }, every: 1, count: 20, users: 1 },
    seconds: 20,
  });
  const listening = hookConfig({ delivery: said, broadcasts: { count: 6, interval: 0.5 } });
  assert.equal(listening.delivery?.seconds, 3);
  const deliveryOf = (delivery: object) => hookConfig({ delivery }, {}, { BROADCASTS: '4' }).delivery;
  const published = deliveryOf({ ...said, publish: { emit, every: 0.5 } });
  assert.deepEqual([published?.publish?.count, published?.seconds, deliveryOf(said)?.seconds], [4, 2, 4]);
});

describe('users that all leave by themselves', () => {
  const phases = [{ duration: 30, arrivalRate: 10 }];
  const settings = (options: object, ...steps: object[]) => hookConfig(options, { phases }, {}, flowOf(...steps));

  it('a run whose virtual users leave forces no garbage collections', () => {
    const { usersLeave, leadSeconds, overTime, broadcasts } = settings({}, { think: 6 });
    assert.deepEqual(
      [usersLeave, leadSeconds, overTime, broadcasts.count],
      [true, 10, { collect: false, every: 2 }, 20],
    );
    const many = settings({ broadcasts: { count: 100, interval: 1 } }, { think: 6 });
    assert.equal(many.broadcasts.count, 20);
  });

  it('virtual users do not count as leaving if one flow holds, or with the option `overTime`', () => {
    assert.equal(settings({}, { think: 1 }, { hold: true }).usersLeave, false);
    assert.equal(settings({ overTime: { every: 5 } }, { think: 6 }).usersLeave, false);
  });
});

describe('memory over time', () => {
  const ramp = { duration: 20, arrivalRate: 500, rampTo: 500 };
  const phases = [ramp, { pause: 40 }, ramp, { pause: 40 }];
  const waves = (env: NodeJS.ProcessEnv = {}) => hookConfig({ overTime: {} }, { phases }, env, flowOf({ think: 25 }));

  it('a run with `overTime` has no hold, no broadcasts, and one wave of connections at a time', () => {
    assert.partialDeepStrictEqual(waves(), {
      ...{ overTime: { collect: true }, hold: 0, broadcasts: { count: 0 } },
      load: { connections: 20_000, connectionsAtOnce: 10_000, stays: false },
    });
  });

  it('environment variables resize a scenario that measures memory over time', () => {
    const small = waves({ CONNECTIONS: '1000', COLLECT: 'off' });
    assert.equal(small.overTime?.collect, false);
    assert.deepEqual(small.phases.slice(0, 2), [{ ...ramp, duration: 2 }, { pause: 40 }]);
    assert.equal(waves({ CONNECTIONS: '1000', RATE: '100' }).phases[0]?.duration, 10);
    const uneven = { phases: [ramp, { pause: 90 }, { ...ramp, duration: 5 }, { pause: 40 }] };
    const { load } = hookConfig({ overTime: {} }, uneven, { CONNECTIONS: '1000' }, flowOf({ think: 25 }));
    assert.deepEqual([load.connections, load.connectionsAtOnce], [1250, 1000]);
    const churn = { overTime: { every: 20 } };
    const long = hookConfig(churn, { phases: [ramp] }, { DURATION: '8h' }, flowOf({ think: 25 }));
    assert.deepEqual(long.phases, [{ ...ramp, duration: 28_800 }]);
    assert.equal(long.load.connectionsAtOnce, 17_500, 'arrivals of 25 s, and of 10 s more for the steps');
  });
});
