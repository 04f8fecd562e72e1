import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { printableLine } from '../../../protocol/base/printable.ts';
import { setKnownSecrets, withoutCredentials, withoutSecrets } from '../../../protocol/base/secrets/known-secrets.ts';
import { collectScriptSecrets, maskedSettings } from '../../../protocol/base/secrets/masked-values.ts';
import { describeError } from '../../../protocol/codes/errors.ts';

afterEach(() => setKnownSecrets({ credentials: [], values: [] }));

const SCENARIO = {
  target: 'https://ann:pw-1@host/?token=t-1',
  engineOptions: {
    auth: { token: 't-2', user: 'ann' },
    query: 'a=b&sid=s-3',
    headers: { Origin: 'https://o' },
    tls: { key: 'k-1', rejectUnauthorized: false },
    timeout: 5,
    acknowledge: ['ok', 1],
  },
  control: { urls: ['http://10.0.0.1:3200'], token: 'c'.repeat(16) },
  flow: [
    {
      name: 'login',
      weight: 2,
      flow: [
        {
          post: {
            url: '/login?next=x',
            json: { user: 'ann', password: 'pw-2', pin: 12 },
            capture: { json: '$.t', as: 't' },
          },
        },
        {
          emit: ['login', 'ann', { token: '{{ t }}', size: 7 }],
          acknowledge: { match: { json: '$.0.ok', value: 'yes' } },
        },
        { emit: { channel: 'old', data: 'text' }, namespace: '/chat' },
        { think: 5 },
        { log: 'hello' },
        { get: { url: '/a', unknownOption: 'value' } },
      ],
    },
  ],
};

test('shows names and numbers of a scenario, and masks other values', () => {
  const shown = maskedSettings(SCENARIO);
  assert.deepEqual(shown, {
    target: 'https://***@host/?token=***',
    engineOptions: {
      auth: { token: '***', user: '***' },
      query: '***',
      headers: { Origin: '***' },
      tls: { key: '***', rejectUnauthorized: false },
      timeout: 5,
      acknowledge: ['*** text of 2', '*** number'],
    },
    control: { urls: ['http://10.0.0.1:3200'], token: '***' },
    flow: [
      {
        name: 'login',
        weight: 2,
        flow: [
          {
            post: {
              url: '/login?next=***',
              json: { user: '*** text of 3', password: '***', pin: '***' },
              capture: { json: '$.t', as: 't' },
            },
          },
          {
            emit: ['login', '*** text of 3', { token: '{{ t }}', size: '*** number' }],
            acknowledge: { match: { json: '$.0.ok', value: '*** text of 3' } },
          },
          { emit: { channel: 'old', data: '*** text of 4' }, namespace: '/chat' },
          { think: 5 },
          { log: '*** text of 5' },
          { get: { url: '/a', unknownOption: '*** text of 5' } },
        ],
      },
    ],
  });
  assert.deepEqual(maskedSettings(shown), shown, 'masking what is masked changes nothing');
});

test('bounds the masked output of a long list', () => {
  assert.deepEqual(maskedSettings({ json: Array(1000).fill('x') }), { json: '*** list of 1000' });
});

test('finds the values of credentials, also from environment variables in templates', () => {
  const env = { LOGIN_TOKEN: 'from-env-1', ROOM: 'from-env-2' };
  const { credentials, values } = collectScriptSecrets(
    {
      ...SCENARIO,
      headers: { Authorization: 'Bearer bearer-1', Cookie: 'connect.sid=cookie-1; theme=dark-1' },
      auth: { token: '{{ $env.LOGIN_TOKEN }}', room: '{{ $env.ROOM }}' },
    },
    env,
  );
  for (const value of ['t-2', 'k-1', 'pw-1', 't-1', 'pw-2', 'c'.repeat(16), 'from-env-1', 'bearer-1', 'cookie-1']) {
    assert.ok(credentials.has(value) || values.has(value), value);
  }
  assert.ok(credentials.has('t-1') && credentials.has('from-env-1') && credentials.has('pw-1'));
  assert.ok(values.has('from-env-2'));
  assert.ok(!credentials.has('{{ t }}'));
});

test('removes known credentials from any text, and all sent values from text that a server sent', () => {
  setKnownSecrets({ credentials: ['tok-12345', 'light', 'a b/c-12345'], values: ['room-77', 'yes', '12'] });
  assert.equal(withoutCredentials('got tok-12345 at light speed in room-77'), 'got *** at light speed in room-77');
  assert.equal(withoutCredentials('at /x/a%20b%2Fc-12345'), 'at /x/***');
  assert.equal(withoutSecrets('tok-12345, light, room-77, yesterday, yes, 12'), '***, ***, ***, yesterday, ***, 12');
  assert.equal(withoutSecrets('user own-1 is unknown', ['own-1']), 'user *** is unknown');
  assert.equal(printableLine(`${'x'.repeat(95)} tok-12345 and more`, 100), `${'x'.repeat(95)} ***…`);
  assert.equal(
    describeError(new Error('no answer from redis://:pw@h:1 with tok-12345')),
    'no answer from redis://***@h:1 with ***',
  );
});

test('the description of a JSON parse error does not quote the text', () => {
  for (const text of ['{"password":"hunter2-x', 'hunter2-x', `{"a":"${'y'.repeat(50)}hunter2-x${'y'.repeat(50)}" x`]) {
    assert.throws(
      () => JSON.parse(text),
      (error: Error) => !describeError(error).includes('hunter2'),
    );
  }
});
