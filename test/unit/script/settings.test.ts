/** What settings become, from the options, the environment and the flow; what is refused is in refused.test.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sourcesByLayer, tellMemory } from '../../../plugin/script/options/worker-sources.ts';
import { hookConfig } from '../../helpers/measurements.ts';

const ENGINE = 'socketio-capacity';
const CONTROL = { urls: ['http://10.0.0.1:1'], token: 'a'.repeat(16) };
const RAMP = { duration: 2, arrivalRate: 5, rampTo: 5 };
const engineOptions = (options: object) => ({ engines: { [ENGINE]: options } });
const flowOf = (...flow: unknown[]) => ({ scenarios: [{ engine: ENGINE, flow }] });

describe('settings of a run', () => {
  it('have defaults', () => {
    const { target, broadcasts, engine, external, control, layers, share } = hookConfig();
    assert.equal(target, 'http://127.0.0.1:8080');
    assert.deepEqual(broadcasts, { count: 20, interval: 1, bytes: 1000, binary: false, byConnections: 0 });
    assert.deepEqual([engine, external, control, layers], [ENGINE, false, undefined, undefined]);
    assert.equal(share.hosts, 1);
  });

  it('give way to the environment; an empty variable is none', () => {
    const env = { TARGET: 'ws://10.0.0.1:81', HOLD: '0', BROADCASTS: '3', PROFILE: 'embedded', RATE: '' };
    const { target, hold, broadcasts, profile, phases } = hookConfig({ hold: 5, broadcasts: { bytes: 10 } }, {}, env);
    assert.deepEqual([target, hold, profile, phases], ['ws://10.0.0.1:81', 0, 'embedded', [RAMP]]);
    assert.deepEqual(broadcasts, { count: 3, interval: 1, bytes: 10, binary: false, byConnections: 0 });
    assert.deepEqual(hookConfig({}, {}, { RATE: '2' }).phases, [{ duration: 5, arrivalRate: 2, rampTo: 2 }]);
  });

  it('can be copied to another thread as they are', () => {
    const settings = hookConfig({ delivery: { event: 'said', id: '$.0.id' }, workers: { match: 'node' } });
    assert.deepEqual(structuredClone(settings), settings);
  });

  it('speak TLS with a stack of the run', () => {
    const { target, connection } = hookConfig({}, {}, { TLS: 'on' });
    assert.deepEqual([target, connection.url], ['https://127.0.0.1:8080', 'https://127.0.0.1:8080']);
    assert.equal(connection.tls.rejectUnauthorized, false);
    assert.equal(hookConfig({}, {}, { TLS: 'off' }).target, 'http://127.0.0.1:8080');
  });

  it('ask for a Redis Cluster of the run’s own stack', () => {
    const nodes = [{}, { REDIS_NODES: '3' }, { REDIS_NODES: '1', PROFILE: 'embedded' }];
    assert.deepEqual(
      nodes.map((env) => hookConfig({}, {}, env).redisNodes),
      [undefined, 3, 1],
    );
  });

  it('speak TLS with control ports as with the target, except for its name and what `control` has of its own', () => {
    const tls = { rejectUnauthorized: false, servername: 'staging.example.com', ca: '-----BEGIN A' };
    const control = (own: object = {}) =>
      hookConfig({ control: { ...CONTROL, ...own } }, { target: 'https://10.0.0.1', tls }).control?.tls;
    assert.deepEqual(control(), { rejectUnauthorized: false, ca: '-----BEGIN A' });
    const own = { ca: '-----BEGIN B', servername: 'workers.internal' };
    assert.deepEqual(control({ tls: own }), { rejectUnauthorized: false, ...own });
  });

  it('take control ports and their token from the option or the environment', () => {
    const { urls } = CONTROL;
    const control = (option: object, env: NodeJS.ProcessEnv) => hookConfig({ control: option }, {}, env).control;
    const token = 'b'.repeat(16);
    assert.deepEqual(control(CONTROL, { CAPACITY_TOKEN: token }), { urls, token, tls: {} });
    assert.deepEqual(control({ urls }, { CAPACITY_TOKEN: token }), { urls, token, tls: {} });
    const others = ['http://10.0.0.2:1', 'http://10.0.0.2:2'];
    assert.deepEqual(control(CONTROL, { CAPACITY_CONTROL: others.join() })?.urls, others);
  });

  it('say what tells of a proxy or Redis, as of the workers', () => {
    const url = 'http://10.0.0.5:9256/metrics';
    const layers = { nginx: { match: 'nginx: master' }, redis: { prometheus: { url } } };
    assert.deepEqual(sourcesByLayer(hookConfig({ layers, workers: { pids: [1] } })), {
      worker: { pids: [1] },
      nginx: { match: 'nginx: master' },
      redis: { prometheus: [{ url, labels: {} }] },
    });
  });

  it('spread connections over rooms', () => {
    const rooms = { name: 'capacity', count: 1, perConnection: 1, order: 'turn', seed: 1 };
    assert.deepEqual(hookConfig().rooms, rooms);
    assert.deepEqual(hookConfig({ rooms: { count: 5 } }, {}, { ROOMS: '3' }).rooms, { ...rooms, count: 3 });
  });

  it('open a live view if the option or the environment requests it', () => {
    const port = (live?: unknown, CAPACITY_LIVE = '') => hookConfig({ live }, {}, { CAPACITY_LIVE }).livePort;
    assert.deepEqual([port(), port(true), port({ port: 9464 })], [undefined, 0, 9464]);
    assert.deepEqual([port(false, '1'), port(false, '9464'), port(true, '0')], [0, 9464, undefined]);
  });

  it('know what tells of a server without a control port', () => {
    const sources = (workers: object) => hookConfig({ workers }).workerSources;
    const [one, other] = ['http://10.0.0.1:1/metrics', 'http://10.0.0.2:1/metrics'].map((url) => ({ url }));
    assert.deepEqual(sources({ prometheus: one })?.prometheus, [{ ...one, labels: {} }]);
    const labels = { app: 'a' };
    const several = sources({ prometheus: [one, { ...other, labels }] });
    assert.deepEqual(several?.prometheus?.[1], { ...other, labels });
    const adminUi = sources({ adminUi: {} });
    assert.deepEqual([adminUi, tellMemory(adminUi)], [{ adminUi: { namespace: '/admin' } }, false]);
    assert.equal(tellMemory(sources({ adminUi: {}, pids: [1] })), true);
  });

  it('choose transports and compression: those of the option, or of the environment', () => {
    const transports = (TRANSPORTS: string, given?: string[]) =>
      hookConfig({}, engineOptions({ transports: given }), { TRANSPORTS }).engineOptions?.connection.transports;
    assert.deepEqual(
      [transports(''), transports('', ['polling']), transports('default', ['polling'])],
      [['websocket'], ['polling'], ['polling', 'websocket']],
    );
    const compression = (COMPRESSION: string, given?: boolean) =>
      hookConfig({}, engineOptions({ compression: given }), { COMPRESSION }).connection.compression;
    assert.deepEqual(
      [compression(''), compression('', true), compression('on'), compression('off', true)],
      [false, true, true, false],
    );
  });

  it('choose the engine: the scenario’s, or the stock one', () => {
    const ours = { engine: ENGINE, flow: [{ hold: true }] };
    const engineOf = (...scenarios: object[]) => hookConfig({}, { engine: 'x' }, {}, { scenarios }).engine;
    assert.deepEqual(
      [engineOf(ours), engineOf(ours, ours), engineOf(ours, { weight: 0, flow: [] })],
      Array(3).fill(ENGINE),
    );
    const stock = { scenarios: [ours, { flow: [] }], _environment: 'stock' };
    const { engine, external, engineOptions: ofOurs } = hookConfig({}, {}, { STOCK_ENGINE: 'socketio-v3' }, stock);
    assert.deepEqual([engine, external, ofOurs], ['socketio-v3', true, undefined]);
  });

  it('connect the receivers by the options of the scenario and of its first connect, but no templates', () => {
    const socketio = { query: 'user=ada', path: 'rooms', auth: { token: '{{ token }}' } };
    const flow = [{ connect: { headers: { a: 'b' } } }, { hold: true }];
    const changes = { scenarios: [{ engine: ENGINE, socketio, flow }] };
    const { connection } = hookConfig({}, engineOptions({ query: { all: '1' } }), {}, changes);
    assert.deepEqual(connection.query, { all: '1', user: 'ada' });
    assert.deepEqual([connection.path, connection.headers, connection.auth], ['/rooms/', { a: 'b' }, undefined]);
  });

  it('read a planned fault, which lets CONNECTIONS size the phases', () => {
    const faultOf = (fault: object, options: object = {}, env: NodeJS.ProcessEnv = {}) =>
      hookConfig({ fault, ...options }, engineOptions({ reconnection: true }), env);
    assert.deepEqual(faultOf({ kind: 'drop-connections' }).fault, { kind: 'drop-connections', at: 10.5 });
    const { fault } = faultOf({ command: ['true'] }, { control: CONTROL });
    assert.deepEqual(fault, { kind: 'command', command: ['true'], at: 10.5 });
    assert.equal(faultOf({ kind: 'kill-worker', at: 5 }, {}, { CONNECTIONS: '77' }).load.connections, 77);
  });
});

describe('an event of the server’s own', () => {
  const SAID = { event: 'said', id: '$.0.id' };
  const PUBLISH = { emit: ['say', { id: '$id' }] };

  it('has paths and emits that are read once; the run lasts as long as publishing or listening does', () => {
    assert.deepEqual(hookConfig({ delivery: { ...SAID, sentAt: 'first argument', publish: PUBLISH } }).delivery, {
      event: 'said',
      id: ['0', 'id'],
      sentAt: ['0'],
      publish: { emit: { event: 'say', args: [{ id: '$id' }] }, every: 1, count: 20, users: 1 },
      seconds: 20,
    });
    const listening = hookConfig({ delivery: SAID, broadcasts: { count: 6, interval: 0.5 } });
    assert.equal(listening.delivery?.seconds, 3);
    assert.equal(hookConfig({}).delivery, undefined);
  });

  it('is published BROADCASTS times, or listened to for as many intervals', () => {
    const deliveryOf = (delivery: object) => hookConfig({ delivery }, {}, { BROADCASTS: '4' }).delivery;
    const published = deliveryOf({ ...SAID, publish: { ...PUBLISH, every: 0.5 } });
    assert.deepEqual([published?.publish?.count, published?.seconds, deliveryOf(SAID)?.seconds], [4, 2, 4]);
  });
});

describe('memory over time', () => {
  const ramp = { duration: 20, arrivalRate: 500, rampTo: 500 };
  const phases = [ramp, { pause: 40 }, ramp, { pause: 40 }];
  const waves = (env: NodeJS.ProcessEnv = {}) => hookConfig({ overTime: {} }, { phases }, env, flowOf({ think: 25 }));

  it('has no hold and no broadcasts, and counts a wave at once', () => {
    const { overTime, hold, broadcasts, load } = waves();
    assert.deepEqual([overTime, hold, broadcasts.count], [{ collect: true }, 0, 0]);
    assert.deepEqual([load.connections, load.connectionsAtOnce, load.stays], [20_000, 10_000, false]);
    assert.equal(hookConfig().overTime, undefined);
  });

  it('gives way to the environment', () => {
    const small = waves({ CONNECTIONS: '1000', COLLECT: 'off' });
    assert.equal(small.overTime?.collect, false);
    assert.deepEqual(small.phases.slice(0, 2), [{ ...ramp, duration: 2 }, { pause: 40 }]);
    assert.equal(waves({ CONNECTIONS: '1000', RATE: '100' }).phases[0]?.duration, 10);
    const churn = { overTime: { every: 20 } };
    const long = hookConfig(churn, { phases: [ramp] }, { DURATION: '8h' }, flowOf({ think: 25 }));
    assert.deepEqual(long.phases, [{ ...ramp, duration: 28_800 }]);
    assert.equal(long.load.connectionsAtOnce, 17_500, 'those of 25 s, and of 10 more for the steps');
  });
});
