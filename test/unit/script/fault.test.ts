/** The option `fault`: what is refused before the load, with its place. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { hookConfig } from '../../helpers/measurements.ts';

const ENGINE = { engines: { 'socketio-capacity': { reconnection: true } } };
const FAULT = { kind: 'kill-worker', at: 5 };
const CONTROL = { urls: ['http://127.0.0.1:9'], token: 'a'.repeat(16) };

it('is read with its defaults', () => {
  assert.deepEqual(hookConfig({ fault: { kind: 'drop-connections' } }, ENGINE).fault, {
    kind: 'drop-connections',
    at: 10.5,
  });
  const { fault } = hookConfig({ fault: { command: ['true'] }, control: CONTROL }, ENGINE);
  assert.deepEqual(fault, { kind: 'command', command: ['true'], at: 10.5 });
});

it('lets CONNECTIONS size the phases', () => {
  assert.equal(hookConfig({ fault: FAULT }, ENGINE, { CONNECTIONS: '77' }).load.connections, 77);
});

for (const [name, options, config, env, problem] of [
  ['without reconnection', { fault: FAULT }, {}, {}, /fault: .*reconnection: true/],
  [
    'beside broadcasts with fewer connections',
    { fault: FAULT, broadcasts: { byConnections: 6 } },
    ENGINE,
    {},
    /broadcasts\.byConnections: not with `fault`/,
  ],
  ['without kind and command', { fault: {} }, ENGINE, {}, /fault: needs a `kind`, or a `command`/],
  ['with a command of another kind', { fault: { ...FAULT, command: ['x'] } }, ENGINE, {}, /fault\.command: only for/],
  [
    'for the stack, at a server of one’s own',
    { fault: FAULT, control: CONTROL },
    ENGINE,
    {},
    /fault\.kind: only for the stack/,
  ],
  ['for nginx, without any', { fault: { kind: 'reload-nginx' }, profile: 'embedded' }, ENGINE, {}, /no nginx/],
  [
    'for somebody else’s Redis',
    { fault: { kind: 'restart-redis' } },
    ENGINE,
    { REDIS_URL: 'redis://127.0.0.1:1' },
    /REDIS_URL/,
  ],
  [
    'after the last broadcast',
    { fault: FAULT },
    ENGINE,
    { BROADCASTS: '5' },
    /fault\.at: the last broadcast is at 4 s/,
  ],
  ['with an unknown kind', { fault: { kind: 'reboot' } }, ENGINE, {}, /fault\.kind/],
  ['with a misspelt key', { fault: { kind: 'kill-worker', att: 3 } }, ENGINE, {}, /fault\.att.*at/s],
] as const) {
  it(`is refused ${name}`, () => {
    assert.throws(() => hookConfig(options, config, env), problem);
  });
}

it('is refused where virtual users leave', () => {
  const scenarios = [{ engine: 'socketio-capacity', flow: [{ think: 1 }] }];
  assert.throws(
    () => hookConfig({ fault: FAULT }, ENGINE, {}, { scenarios }),
    /must stay: end the flow with `hold: true`/,
  );
});
