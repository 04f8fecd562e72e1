import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CapacityError } from '../../../protocol/errors.ts';
import { parseConfig } from '../../../server/config.ts';

const CAPACITY_TOKEN = '0123456789abcdef';

test('only the token has to be set', () => {
  assert.deepEqual(parseConfig({ CAPACITY_TOKEN, PATH: '/bin' }), {
    worker: 'w0',
    host: '127.0.0.1',
    port: 0,
    controlHost: '127.0.0.1',
    controlPort: 0,
    token: CAPACITY_TOKEN,
    adapter: { name: 'in-memory', settings: {} },
    websockets: 'ws',
    drainMs: 5000,
    pingIntervalMs: 25_000,
    pingTimeoutMs: 20_000,
    recoverySeconds: 0,
    transports: ['websocket', 'polling'],
    tunings: {
      dropRequest: true,
      dropHandshake: true,
      leaveOwnRoom: false,
      dropListeners: true,
      sharePingTimer: true,
      perMessageDeflate: false,
      httpCompression: false,
    },
    logLevel: 'info',
  });
});

test('every variable is read', () => {
  const config = parseConfig({
    CAPACITY_TOKEN,
    CAPACITY_WORKER: 'w12',
    CAPACITY_HOST: '0.0.0.0',
    CAPACITY_PORT: '4001',
    CAPACITY_CONTROL_HOST: '127.0.0.9',
    CAPACITY_CONTROL_PORT: '5001',
    REDIS_URL: 'redis://127.0.0.1:6390',
    CAPACITY_REDIS_PREFIX: 'run7',
    CAPACITY_ADAPTER: 'redis',
    CAPACITY_WEBSOCKETS: 'ws',
    CAPACITY_DRAIN_MS: '1000',
    CAPACITY_PING_INTERVAL_MS: '2000',
    CAPACITY_PING_TIMEOUT_MS: '3000',
    CAPACITY_RECOVERY_SECONDS: '0',
    CAPACITY_TRANSPORTS: 'polling, websocket',
    CAPACITY_DROP_REQUEST: 'off',
    CAPACITY_DROP_HANDSHAKE: 'off',
    CAPACITY_LEAVE_OWN_ROOM: 'yes',
    CAPACITY_DROP_LISTENERS: '0',
    CAPACITY_SHARE_PING_TIMER: 'off',
    CAPACITY_PER_MESSAGE_DEFLATE: 'on',
    CAPACITY_HTTP_COMPRESSION: 'true',
    CAPACITY_LOG_LEVEL: 'warn',
  });
  assert.deepEqual(config, {
    worker: 'w12',
    host: '0.0.0.0',
    port: 4001,
    controlHost: '127.0.0.9',
    controlPort: 5001,
    token: CAPACITY_TOKEN,
    adapter: {
      name: 'redis',
      settings: { REDIS_URL: 'redis://127.0.0.1:6390', CAPACITY_REDIS_PREFIX: 'run7' },
    },
    websockets: 'ws',
    drainMs: 1000,
    pingIntervalMs: 2000,
    pingTimeoutMs: 3000,
    recoverySeconds: 0,
    transports: ['polling', 'websocket'],
    tunings: {
      dropRequest: false,
      dropHandshake: false,
      leaveOwnRoom: true,
      dropListeners: false,
      sharePingTimer: false,
      perMessageDeflate: true,
      httpCompression: true,
    },
    logLevel: 'warn',
  });
});

test('an empty variable counts as unset', () => {
  const config = parseConfig({ CAPACITY_TOKEN, REDIS_URL: '', CAPACITY_PORT: '' });
  assert.equal(config.adapter.name, 'in-memory');
  assert.equal(config.port, 0);
});

test('the adapter is Redis where its URL is set, unless another is chosen', () => {
  const adapter = (environment: Record<string, string>) => parseConfig({ CAPACITY_TOKEN, ...environment }).adapter;
  const REDIS_URL = 'redis://127.0.0.1:6390';
  assert.deepEqual(adapter({ REDIS_URL }), {
    name: 'redis',
    settings: { REDIS_URL, CAPACITY_REDIS_PREFIX: 'socket.io' },
  });
  assert.deepEqual(adapter({ REDIS_URL, CAPACITY_ADAPTER: 'in-memory' }), { name: 'in-memory', settings: {} });
});

test('an adapter without what it needs is an error that names both variables, beside the others', () => {
  assert.throws(() => parseConfig({ CAPACITY_TOKEN, CAPACITY_ADAPTER: 'redis', CAPACITY_PORT: 'many' }), {
    code: 'CONFIG_INVALID',
    message: /CAPACITY_PORT=many: [\s\S]*REDIS_URL is not set, but CAPACITY_ADAPTER=redis needs it/,
  });
});

test('all problems are reported at once, and secrets are not shown', () => {
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
  assert.throws(
    () => parseConfig(environment),
    (error) => {
      assert.ok(error instanceof CapacityError);
      assert.equal(error.code, 'CONFIG_INVALID');
      for (const variable of Object.keys(environment))
        assert.match(error.message, new RegExp(`^  ${variable}\\b`, 'm'));
      assert.doesNotMatch(error.message, /hush|hunter2/);
      return true;
    },
  );
});

test('a missing token is reported as missing', () => {
  assert.throws(() => parseConfig({}), { code: 'CONFIG_INVALID', message: /CAPACITY_TOKEN is not set/ });
});

test('sessions can be kept only where the adapter restores them', () => {
  const asked = { CAPACITY_TOKEN, CAPACITY_RECOVERY_SECONDS: '120' };
  assert.equal(parseConfig(asked).recoverySeconds, 120);
  const redis = { ...asked, REDIS_URL: 'redis://127.0.0.1:6390' };
  assert.throws(() => parseConfig(redis), /CAPACITY_RECOVERY_SECONDS: the adapter redis cannot restore sessions/);
});
