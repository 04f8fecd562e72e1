import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseServerConfig } from '../../../server/config.ts';

const CAPACITY_TOKEN = '0123456789abcdef';
const REDIS_URL = 'redis://127.0.0.1:6390';

const DEFAULTS = {
  ...{ worker: 'w0', host: '127.0.0.1', port: 0, controlHost: '127.0.0.1', controlPort: 0, token: CAPACITY_TOKEN },
  adapter: { name: 'in-memory', settings: {} },
  ...{ websockets: 'ws', plain: false, modules: undefined },
  ...{ drainMs: 5000, pingIntervalMs: 25_000, pingTimeoutMs: 20_000, recoverySeconds: 0 },
  transports: ['websocket', 'polling'],
  tunings: {
    ...{ dropRequest: true, dropHandshake: true, dropListeners: true, sharePingTimer: true },
    ...{ perMessageDeflate: false, httpCompression: false },
  },
  logLevel: 'info',
};

test('the server requires only the token, and treats an empty variable as unset', () => {
  assert.deepEqual(parseServerConfig({ CAPACITY_TOKEN, PATH: '/bin' }), DEFAULTS);
  assert.deepEqual(parseServerConfig({ CAPACITY_TOKEN, REDIS_URL: '', CAPACITY_PORT: '' }), DEFAULTS);
});

test('every environment variable of the server sets its own setting', () => {
  const tuning = (name: string, on: boolean) => ({ tunings: { ...DEFAULTS.tunings, [name]: on } });
  const cases: Record<string, [value: string, changed: object]> = {
    CAPACITY_WORKER: ['w12', { worker: 'w12' }],
    CAPACITY_HOST: ['0.0.0.0', { host: '0.0.0.0' }],
    CAPACITY_PORT: ['4001', { port: 4001 }],
    CAPACITY_CONTROL_HOST: ['127.0.0.9', { controlHost: '127.0.0.9' }],
    CAPACITY_CONTROL_PORT: ['5001', { controlPort: 5001 }],
    REDIS_URL: [REDIS_URL, { adapter: { name: 'redis', settings: { REDIS_URL, CAPACITY_REDIS_PREFIX: 'socket.io' } } }],
    CAPACITY_WEBSOCKETS: ['eiows', { websockets: 'eiows' }],
    CAPACITY_MODULES: ['/opt/modules', { modules: '/opt/modules' }],
    CAPACITY_DRAIN_MS: ['1000', { drainMs: 1000 }],
    CAPACITY_PING_INTERVAL_MS: ['2000', { pingIntervalMs: 2000 }],
    CAPACITY_PING_TIMEOUT_MS: ['3000', { pingTimeoutMs: 3000 }],
    CAPACITY_RECOVERY_SECONDS: ['120', { recoverySeconds: 120 }],
    CAPACITY_TRANSPORTS: ['polling, websocket', { transports: ['polling', 'websocket'] }],
    CAPACITY_DROP_REQUEST: ['off', tuning('dropRequest', false)],
    CAPACITY_DROP_HANDSHAKE: ['no', tuning('dropHandshake', false)],
    CAPACITY_DROP_LISTENERS: ['0', tuning('dropListeners', false)],
    CAPACITY_SHARE_PING_TIMER: ['off', tuning('sharePingTimer', false)],
    CAPACITY_PER_MESSAGE_DEFLATE: ['on', tuning('perMessageDeflate', true)],
    CAPACITY_HTTP_COMPRESSION: ['true', tuning('httpCompression', true)],
    CAPACITY_LOG_LEVEL: ['warn', { logLevel: 'warn' }],
  };
  for (const [variable, [value, changed]] of Object.entries(cases)) {
    assert.deepEqual(parseServerConfig({ CAPACITY_TOKEN, [variable]: value }), { ...DEFAULTS, ...changed }, variable);
  }
  const { adapter } = parseServerConfig({ CAPACITY_TOKEN, REDIS_URL, CAPACITY_REDIS_PREFIX: 'run7' });
  assert.equal(adapter.settings.CAPACITY_REDIS_PREFIX, 'run7');
  assert.equal(
    parseServerConfig({ CAPACITY_TOKEN, REDIS_URL, CAPACITY_ADAPTER: 'in-memory' }).adapter.name,
    'in-memory',
  );
});

test('a plain server runs on ws, and reports conflicting variables by name', () => {
  const given = { CAPACITY_TOKEN, CAPACITY_WEBSOCKETS: 'plain-ws', REDIS_URL };
  const { websockets, plain, adapter } = parseServerConfig(given);
  assert.deepEqual([websockets, plain, adapter.name], ['ws', true, 'in-memory']);
  const cases: [environment: Record<string, string>, variable: string][] = [
    [{ ...given, CAPACITY_ADAPTER: 'redis' }, 'CAPACITY_ADAPTER'],
    [{ ...given, CAPACITY_RECOVERY_SECONDS: '120' }, 'CAPACITY_RECOVERY_SECONDS'],
    [{ CAPACITY_TOKEN, REDIS_URL, CAPACITY_RECOVERY_SECONDS: '120' }, 'CAPACITY_RECOVERY_SECONDS'],
    [{ CAPACITY_TOKEN, CAPACITY_ADAPTER: 'redis' }, 'REDIS_URL'],
    [{}, 'CAPACITY_TOKEN'],
  ];
  for (const [environment, variable] of cases) {
    const message = new RegExp(`^  ${variable}\\b`, 'm');
    assert.throws(() => parseServerConfig(environment), { code: 'CONFIG_INVALID', message });
  }
});

test('the server reports all problems of its configuration at once, without secrets', () => {
  const environment = {
    CAPACITY_TOKEN: 'hush',
    CAPACITY_WORKER: 'W-1',
    CAPACITY_PORT: '70000',
    CAPACITY_CONTROL_PORT: 'many',
    REDIS_URL: 'http://user:hunter2@somewhere',
    CAPACITY_ADAPTER: 'toString',
    CAPACITY_WEBSOCKETS: 'uws',
    CAPACITY_DRAIN_MS: '0',
    CAPACITY_TRANSPORTS: 'websocket,pigeon',
    CAPACITY_DROP_REQUEST: 'maybe',
    CAPACITY_LOG_LEVEL: 'loud',
  };
  const isReported = ({ code, message }: Error & { code?: string }) =>
    code === 'CONFIG_INVALID' &&
    Object.keys(environment).every((variable) => message.includes(`\n  ${variable}`)) &&
    !/hush|hunter2/.test(message);
  assert.throws(() => parseServerConfig(environment), isReported);
});
