import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSettings } from '../../../plugin/script/settings.ts';
import { STEPS } from '../../../plugin/virtual-user/steps/index.ts';
import { hookConfig } from '../../helpers/measurements.ts';

const SAID = { event: 'said', id: '$.0.id' };
const PUBLISH = { emit: ['say', { id: '$id' }] };

test('paths and emits are read once; the run lasts as long as publishing or listening does', () => {
  const { delivery } = hookConfig({ delivery: { ...SAID, sentAt: 'first argument', publish: PUBLISH } });
  assert.deepEqual(delivery, {
    event: 'said',
    id: ['0', 'id'],
    sentAt: ['0'],
    publish: { emit: { event: 'say', args: [{ id: '$id' }] }, before: [], every: 1, count: 20, users: 1 },
    seconds: 20,
  });
  const listening = hookConfig({ delivery: SAID, broadcasts: { count: 6, interval: 0.5 } });
  assert.equal(listening.delivery?.seconds, 3);
  assert.equal(hookConfig({}).delivery, undefined);
});

test('BROADCASTS is the number of broadcasts, or of intervals to listen for', () => {
  const env = { BROADCASTS: '4' };
  const published = hookConfig({ delivery: { ...SAID, publish: { ...PUBLISH, every: 0.5 } } }, {}, env).delivery;
  assert.deepEqual([published?.publish?.count, published?.seconds], [4, 2]);
  assert.equal(hookConfig({ delivery: SAID }, {}, env).delivery?.seconds, 4);
});

test('mistakes are listed with their places', () => {
  const delivery = { event: '', id: 'id', sentAt: '$.at', publish: { emit: [{ id: 1 }], evry: 1 } };
  assert.throws(() => hookConfig({ delivery }), {
    code: 'CONFIG_INVALID',
    message:
      /delivery\.event[\s\S]*delivery\.id: expected a path into the arguments such as \$\.0\.id[\s\S]*delivery\.sentAt[\s\S]*delivery\.publish\.emit: expected \[event, \.\.\.arguments\][\s\S]*evry[\s\S]*every/,
  });
});

test('other engines do not tell who received what', () => {
  const config = { target: 'http://127.0.0.1:8080', plugins: { 'socketio-capacity': { delivery: SAID } } };
  const script = { config, scenarios: [{ engine: 'socketio-capacity', flow: [] }], _environment: 'stock' };
  assert.throws(() => readSettings(script, STEPS, {}), {
    code: 'CONFIG_INVALID',
    message: /plugins\.socketio-capacity\.delivery: only engine socketio-capacity tells who received what/,
  });
});
