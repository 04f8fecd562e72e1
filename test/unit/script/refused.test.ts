/** Tests settings that are refused before a run, with their paths: invalid settings, and invalid combinations. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { CapacityError } from '../../../protocol/codes/errors.ts';
import { hookConfig } from '../../helpers/measurements.ts';

const ENGINE = 'socketio-capacity';
const CONTROL = { urls: ['http://10.0.0.1:1'], token: 'a'.repeat(16) };
const RECONNECTING = { engines: { [ENGINE]: { reconnection: true } } };
const OTHER = { scenarios: [{ engine: 'socketio-v3', flow: [{ hold: true }] }] };
const OURS = { engine: ENGINE, weight: 3, flow: [{ hold: true }] };
const HTTP = { weight: 1, flow: [{ get: { url: '/' } }] };
const SAID = { event: 'said', id: '$.0.id' };
const FAULT = { kind: 'kill-worker', at: 5 };
const RAMP = { duration: 20, arrivalRate: 5 };
const leaving = { scenarios: [{ engine: ENGINE, flow: [{ think: 1 }] }] };

/** Paths of mistakes: below the options of the plugin or, with a slash, from the root. */
type Case = [places: string, options?: object, env?: NodeJS.ProcessEnv, config?: object, changes?: object];

const CASES: Case[] = [
  // Variables
  ['/TLS', {}, { TLS: 'yse' }],
  ['/TLS', { control: CONTROL }, { TLS: 'on' }],
  ['/TLS', {}, { TLS: 'on', PROFILE: 'embedded' }],
  ['/TLS', {}, { TLS: 'on', TARGET: 'http://10.0.0.1' }],
  // Settings that only the bundled deployment supports.
  ['/STACK_PORT', {}, { STACK_PORT: '9000', TARGET: 'http://127.0.0.1:9000' }],
  ['/STACK_PORT', {}, { STACK_PORT: '0' }],
  ['/PROFILE', {}, { PROFILE: 'embedded', TARGET: 'http://10.0.0.1' }],
  ['profile', { profile: 'embedded' }, {}, { target: 'http://127.0.0.1:8080' }],
  ['workers', { workers: 2 }, {}, { target: 'http://127.0.0.1:8080' }],
  ['fault.kind', { fault: FAULT }, {}, { ...RECONNECTING, target: 'http://127.0.0.1:8080' }],
  ['stack.prot', { stack: { prot: 1 } }],
  ...['0', '2', '17', 'three'].map((REDIS_NODES): Case => ['/REDIS_NODES', {}, { REDIS_NODES }]),
  ['/REDIS_NODES', {}, { REDIS_NODES: '3', PROFILE: 'embedded' }],
  ['/REDIS_NODES', {}, { REDIS_NODES: '3', TARGET: 'http://10.0.0.1' }],
  ['/REDIS_NODES', {}, { REDIS_NODES: '3', REDIS_URL: 'redis://10.0.0.1:1' }],
  ['/TRANSPORTS', {}, { TRANSPORTS: 'webtransport' }],
  ['/TRANSPORTS', {}, { TRANSPORTS: 'default' }, {}, OTHER],
  ['/COMPRESSION', {}, { COMPRESSION: 'gzip' }],
  ['/COMPRESSION', {}, { COMPRESSION: 'on' }, {}, OTHER],
  ['/config.socketio-capacity', {}, {}, { 'socketio-capacity': { transport: 'websocket' } }],
  // Settings of control ports and layers.
  ['control.tls.ca', { control: { ...CONTROL, tls: { ca: 'missing.pem' } } }],
  ['control.tls.caa', { control: { ...CONTROL, tls: { caa: '' } } }],
  ['/CAPACITY_TOKEN', { control: { urls: CONTROL.urls } }],
  ['layers.apache', { layers: { apache: { match: 'a' } } }],
  ['layers.nginx', { layers: { nginx: {} } }],
  ['layers.nginx', { layers: { nginx: { pids: [1], match: 'a' } } }],
  // Settings of a server without a control port.
  ['workers.prometheus[0].url', { workers: { prometheus: [{ url: 'nonsense' }] } }],
  ['workers.prometheus.url', { workers: { prometheus: { url: 'nonsense' } } }],
  ['workers.json', { workers: { json: 'http://127.0.0.1/health' } }],
  ['workers.json', { workers: { json: { url: 'http://127.0.0.1/health' } } }],
  ['layers.nginx.json', { layers: { nginx: { json: { url: 'http://127.0.0.1/health' } } } }],
  ['workers.json.rss', { workers: { json: { url: 'http://127.0.0.1/health', rss: 'memory.rss' } } }],
  ['workers.match', { workers: { match: '(' } }],
  ['workers', { workers: {} }],
  ['workers.profile', { workers: { profile: true } }, { TARGET: 'http://10.0.0.1' }],
  ['workers.profile', { workers: { profile: true, match: 'node' } }],
  // Settings of the run's engine.
  ['/scenarios[1].engine', {}, {}, {}, { scenarios: [OURS, { ...HTTP, engine: 'socketio' }] }],
  ['/scenarios[1].engine', {}, {}, {}, { scenarios: [HTTP, OTHER.scenarios[0]] }],
  ['clients', { clients: 'web' }, {}, {}, { scenarios: [{ ...HTTP, name: 'web' }, OURS] }],
  ['/scenarios[0].socketio.qeury', {}, {}, {}, { scenarios: [{ ...OURS, socketio: { qeury: 'a=1' } }] }],
  ['clients', { clients: 'nobody' }],
  ['/config.engines', {}, {}, { engines: {} }, { before: { flow: [{ get: { url: '/', capture: {} } }] } }],
  // Settings of rooms and broadcasts.
  ['rooms.perConnection', { rooms: { perConnection: 2 } }],
  ['rooms', { delivery: SAID }, { ROOMS: '3' }],
  ['rooms', {}, { ROOMS: '3' }, {}, { scenarios: [{ engine: 'socketio', flow: [] }] }],
  ['rooms.cuont', { rooms: { cuont: 3 } }],
  ['live.prot', { live: { prot: 1 } }],
  // Settings of an event of the user's server.
  [
    'delivery.event delivery.id delivery.publish.emit delivery.publish.evry delivery.sentAt',
    { delivery: { event: '', id: 'id', sentAt: '$.at', publish: { emit: [{ id: 1 }], evry: 1 } } },
  ],
  ['delivery.audience.client', { delivery: { ...SAID, audience: { event: '$.0.doc', client: '$.0' } } }],
  ['delivery.audience.client', { delivery: { ...SAID, join: 'open', audience: { event: '$.0.doc', client: 'doc' } } }],
  ['delivery.audience.client', { delivery: { ...SAID, audience: { event: '$.0.doc', client: '{{ doc }}' } } }],
  ['delivery', { delivery: SAID }, {}, {}, OTHER],
  // Settings of a planned fault.
  ['fault', { fault: FAULT }],
  ['fault', { fault: {} }, {}, RECONNECTING],
  ['fault', { fault: FAULT }, {}, RECONNECTING, leaving],
  ['fault', { fault: { command: ['x'] }, delivery: SAID }, {}, RECONNECTING],
  ['fault.command', { fault: { ...FAULT, command: ['x'] } }, {}, RECONNECTING],
  ['fault.kind', { fault: FAULT, control: CONTROL }, {}, RECONNECTING],
  ['fault.kind', { fault: { kind: 'reload-nginx' }, profile: 'embedded' }, {}, RECONNECTING],
  ['fault.kind', { fault: { kind: 'restart-redis' } }, { REDIS_URL: 'redis://127.0.0.1:1' }, RECONNECTING],
  ['fault.kind', { fault: { kind: 'reboot' } }, {}, RECONNECTING],
  ['fault.at', { fault: FAULT }, { BROADCASTS: '5' }, RECONNECTING],
  ['fault.att', { fault: { kind: 'kill-worker', att: 3 } }, {}, RECONNECTING],
  // Settings of memory over time.
  ['/COLLECT', {}, { COLLECT: 'off' }],
  ['overTime.every', { overTime: { every: 1 } }, {}, {}, leaving],
  ['overTime', { overTime: {} }, {}, { phases: [RAMP] }, leaving],
  [
    'overTime',
    { overTime: {} },
    {},
    { phases: [RAMP, { pause: 5 }] },
    { scenarios: [{ engine: ENGINE, flow: [{ connect: true }] }] },
  ],
  [
    '/BROADCASTS /DURATION /scenarios[0].flow hold overTime',
    { overTime: {}, hold: 1 },
    { BROADCASTS: '5', CONNECTIONS: '10', DURATION: '1h' },
  ],
];

/** Returns the sorted paths of all mistakes; empty if the settings are accepted. */
function placesOf(options?: object, env?: NodeJS.ProcessEnv, config?: object, changes?: object): string[] {
  try {
    hookConfig(options, config, env, changes);
    return [];
  } catch (error) {
    const { code, message } = error as CapacityError;
    assert.equal(code, 'CONFIG_INVALID');
    const places = [...message.matchAll(/^ {2}(?:environment variable\.)?(\S+): /gm)].map(([, place]) => `/${place}`);
    return places.map((place) => place.replace(`/config.plugins.${ENGINE}.`, '')).sort();
  }
}

it('refuses each invalid scenario with exactly the expected paths', () => {
  for (const [places, ...args] of CASES) assert.equal(placesOf(...args).join(' '), places, JSON.stringify(args));
});

it('accepts a JSON page without memory if a counter of events is on it', () => {
  const workers = { json: { url: 'http://127.0.0.1/health' } };
  const placesWith = (counter: string) =>
    placesOf({ workers, counts: [{ event: 'tick', counter }] }, { TARGET: 'http://10.0.0.1' });
  assert.deepEqual(placesWith('$.sent.ticks'), []);
  assert.deepEqual(placesWith('ticks_total'), ['workers.json']);
});

it('reports mistakes of plugin, engine, flow, phases, target and environment together', () => {
  const options = { brodcasts: {}, hold: -1, drain: { quite: 1 }, control: { urls: [], token: 'short' } };
  const config = {
    target: undefined,
    phases: [{ duration: 1 }, { puase: 1 }],
    engines: { [ENGINE]: { transport: 'websocket', constructor: 1 } },
  };
  const env = { RATE: 'fast', CAPACITY_CONTROL: 'nowhere' };
  const changes = { scenarios: [{ engine: ENGINE, flow: [{ emitt: ['a'] }] }] };
  assert.deepEqual(placesOf(options, env, config, changes), [
    ...['/CAPACITY_CONTROL', '/RATE', '/config.engines.socketio-capacity.constructor'],
    ...['/config.engines.socketio-capacity.transport', '/config.phases', '/config.phases[0]'],
    ...['/config.phases[1]', '/config.phases[1].puase'],
    ...['/config.target', '/scenarios[0].flow[0]', 'brodcasts', 'control.token', 'control.urls'],
    ...['drain.quite', 'hold'],
  ]);
});
