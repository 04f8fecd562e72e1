/**
 * Tests that `init --har` creates a scenario from recordings of a browser. The recorded applications are the targets.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { CLEAR_LINE, cli, cliOnTerminal, noTerminal } from '../../helpers/cli.ts';
import { SECONDS, written } from '../../helpers/init.ts';
import { type AppName, MESSAGE, PASSWORD, startApp } from '../../helpers/recorded-apps.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

interface Har {
  log: {
    entries: {
      request: { url: string; postData?: { text: string } };
      response: object;
      _webSocketMessages?: object[];
    }[];
  };
}

/**
 * Reads a recording of Chromium. Cookies for the form are missing, because Chromium omits them unless the user asks for
 * sensitive data.
 */
function recording(name: AppName): string {
  return readFileSync(new URL(`../../fixtures/recordings/${name}.har`, import.meta.url), 'utf8');
}

/** @param change changes the recording before `init` reads it */
async function initFrom(t: TestContext, name: AppName, change = (har: Har) => har, ...args: string[]) {
  const app = await startApp(t, name);
  const cwd = tempFolder(t);
  const text = recording(name).replaceAll('127.0.0.1:3000', new URL(app.url).host);
  writeFileSync(join(cwd, 'session.har'), JSON.stringify(change(JSON.parse(text))));
  const answer = await cli(cwd, 'init', '--har', 'session.har', '--listen', SECONDS, ...args);
  return { ...answer, ...(await written(cwd)), url: app.url };
}

const EXPECTED: Record<AppName, { flow: object[]; publish: object; event: string; id: string[]; options: RegExp }> = {
  form: {
    flow: [
      { get: { url: '/login', capture: { selector: 'input[name="_csrf"]', attr: 'value', as: '_csrf' } } },
      {
        post: {
          url: '/login',
          form: { _csrf: '{{ _csrf }}', username: 'ann', passwort: '{{ $env.PASSWORT }}' },
          followRedirect: false,
        },
      },
      { connect: true },
    ],
    publish: { event: 'say', args: [{ text: '$id', mood: 'fine' }] },
    ...{ event: 'said', id: ['0', 'text'], options: /transports: \["polling","websocket"\]/ },
  },
  token: {
    flow: [
      {
        post: {
          url: '/api/auth/login',
          json: { email: 'ann@example.com', password: '{{ $env.PASSWORD }}' },
          capture: { json: '$.data.accessToken', as: 'accessToken' },
        },
      },
      {
        get: {
          url: '/api/me',
          headers: { authorization: 'Bearer {{ accessToken }}' },
          capture: { json: '$.id', as: 'id' },
        },
      },
      { connect: { auth: { token: '{{ accessToken }}', userId: '{{ id }}' } } },
      { emit: ['channel:open', { channel: 'general' }], acknowledge: true },
    ],
    publish: { event: 'message:send', args: [{ clientId: '$id', channel: 'general', body: MESSAGE }] },
    ...{ event: 'message:new', id: ['0', 'clientId'], options: /socketio-capacity: \{\}/ },
  },
  open: {
    flow: [
      { connect: { namespace: '/rooms', query: { v: '2' } } },
      { waitFor: { event: 'welcome', namespace: '/rooms', capture: [{ json: '$.0.memberId', as: 'memberId' }] } },
      { emit: ['enter', { memberId: '{{ memberId }}', room: 'kitchen' }], namespace: '/rooms' },
      { emit: ['typing', 'kitchen'], namespace: '/rooms' },
    ],
    publish: { event: 'say', args: ['kitchen', '$id'] },
    ...{ event: 'said', id: ['0'], options: /path: "\/live\/", transports: \["polling","websocket"\]/ },
  },
};

for (const name of ['form', 'token', 'open'] as const) {
  it(`init derives logins, captures, joins and the event to count from a recording: ${name}`, async (t) => {
    const { code, said, flow, settings, text } = await initFrom(t, name);
    assert.equal(code, 0, said);
    const expected = EXPECTED[name];
    assert.deepEqual(flow, [...expected.flow, { hold: true }]);
    const { event, id, publish } = settings?.delivery ?? {};
    assert.deepEqual([event, id, publish?.emit], [expected.event, expected.id, expected.publish]);
    assert.match(text, expected.options);
    assert.match(said, new RegExp(`Its "${expected.event}" will be counted`), 'confirmed by a look at the server');
    assert.doesNotMatch(text + said, new RegExp(`${PASSWORD}|eyJ`));
  });
}

it('init writes the same scenario from a recording when the application is not running', async (t) => {
  const { code, said, flow, settings } = await initFrom(t, 'token', undefined, '--listen', '0', '--connections', '40');
  assert.equal(code, 0, said);
  assert.deepEqual(flow, [...EXPECTED.token.flow, { hold: true }]);
  assert.deepEqual([settings?.delivery?.event, settings?.load.connections], ['message:new', 40]);
  const emit = '["channel:open", {"channel": "other"}]';
  const other = await initFrom(t, 'token', undefined, '--emit', emit, '--listen', '0');
  assert.deepEqual(other.flow?.[3], { emit: JSON.parse(emit) });
});

it('init asks which event of a recording to count, and nothing else, if it has several events', {
  skip: noTerminal,
}, async (t) => {
  const app = await startApp(t, 'open');
  const cwd = tempFolder(t);
  const har = JSON.parse(recording('open').replaceAll('127.0.0.1:3000', new URL(app.url).host)) as Har;
  const frames = har.log.entries.findLast(({ _webSocketMessages }) => _webSocketMessages)?._webSocketMessages;
  const time = 1.9e9;
  frames?.push(
    { type: 'send', time, opcode: 1, data: '42/rooms,["wave","to-all-of-us-7"]' },
    { type: 'receive', time: time + 1, opcode: 1, data: '42/rooms,["waved","to-all-of-us-7"]' },
  );
  writeFileSync(join(cwd, 'session.har'), JSON.stringify(har));
  const answers: [RegExp, string][] = [[/What makes it send/, `${CLEAR_LINE}["say", "kitchen", "$id"]`]];
  const { code, shown, left } = await cliOnTerminal(cwd, answers, 'init', '--har', 'session.har', '--listen', SECONDS);
  assert.deepEqual([code, left], [0, []], shown);
  assert.match(shown, /It could also count "say" → "said"/);
  assert.equal((await written(cwd)).settings?.delivery?.event, 'said');
});

it('init counts an event of a recording that the server sends periodically', async (t) => {
  const news = ({ log: { entries } }: Har) => {
    const frames = entries.flatMap(({ _webSocketMessages = [] }) => _webSocketMessages);
    const isSaid = (frame: object) => JSON.stringify(frame).includes('said') || JSON.stringify(frame).includes('"say');
    for (const entry of entries) {
      if (entry._webSocketMessages)
        entry._webSocketMessages = entry._webSocketMessages.filter((frame) => !isSaid(frame));
    }
    const data = (n: number) => `42/rooms,["news",{"id":"n-${n}","title":"again"}]`;
    const added = [1, 2, 3].map((n) => ({ type: 'receive', time: 1.9e9 + n, opcode: 1, data: data(n) }));
    entries.findLast(({ _webSocketMessages }) => _webSocketMessages)?._webSocketMessages?.push(...added);
    return { log: { entries: frames.length > 0 ? entries : [] } };
  };
  const { code, said, settings } = await initFrom(t, 'open', news, '--listen', '0');
  assert.equal(code, 0, said);
  const { event, id, publish } = settings?.delivery ?? {};
  assert.deepEqual([event, id, publish], ['news', ['0', 'id'], undefined]);
});

it('init finds a login at an endpoint that is not named after logins, and hides its values', async (t) => {
  const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.c2lnbmF0dXJlMTIz';
  let second = 10;
  const entry = (url: string, sent: object | undefined, text: object | string, more: object = {}) => ({
    startedDateTime: `2026-01-01T10:00:${second++}Z`,
    request: {
      ...{ method: sent ? 'POST' : 'GET', url },
      headers: sent ? [{ name: 'X-CSRF-Token', value: 'csrf-abc-123456' }] : [],
      postData: sent && { mimeType: 'application/json', text: JSON.stringify(sent) },
    },
    response: {
      ...{ status: 200, headers: [{ name: 'X-Auth-Token', value: url.includes('graphql') ? token : '' }] },
      content: { mimeType: 'text/html', text: typeof text === 'string' ? text : JSON.stringify(text) },
    },
    ...more,
  });
  const query = 'mutation In($e: String!, $p: String!) { in(e: $e, p: $p) { id } }';
  const frames = [
    ['send', '420["join",{"room":"room-9912-zz","me":"user-7781-aa"}]'],
    ['receive', '430[{"member":"m-55512345"}]'],
    ['send', '42["ready","m-55512345"]'],
  ].map(([type, data], index) => ({ type, time: Date.parse('2026-01-01T10:00:20Z') / 1000 + index, opcode: 1, data }));
  const socket = `ws://127.0.0.1:3000/socket.io/?EIO=4&transport=websocket&token=${token}`;
  const entries = [
    entry('http://web.test/', undefined, '<meta name="csrf-token" content="csrf-abc-123456">'),
    entry(
      'http://api.test/graphql',
      {
        query,
        variables: { e: 'ann@x.test', p: 'hunter2!', next: '/', remember: 'on', code: '/9hT2vQx7LmZpR4sKd8wYb' },
      },
      { in: { id: 'user-7781-aa' } },
    ),
    entry('http://api.test/rooms', { title: 'mine' }, { id: 'room-9912-zz' }),
    entry(socket, undefined, '', { _webSocketMessages: frames }),
  ];
  const { said, flow, text } = await initFrom(t, 'open', () => ({ log: { entries } }) as never, '--listen', '0');
  const headers = { 'x-csrf-token': '{{ csrf_token }}' };
  const variables = { e: 'ann@x.test', p: '{{ $env.P }}', next: '/', remember: 'on', code: '{{ $env.CODE }}' };
  const captures = [
    { header: 'x-auth-token', as: 'X_Auth_Token' },
    { json: '$.in.id', as: 'id' },
  ];
  assert.deepEqual(
    flow,
    [
      {
        get: {
          url: 'http://web.test/',
          capture: { selector: 'meta[name="csrf-token"]', attr: 'content', as: 'csrf_token' },
        },
      },
      { post: { url: 'http://api.test/graphql', headers, json: { query, variables }, capture: captures } },
      { connect: { query: { token: '{{ X_Auth_Token }}' } } },
      {
        emit: ['join', { room: 'room-9912-zz', me: '{{ id }}' }],
        acknowledge: { capture: [{ json: '$.0.member', as: 'member' }] },
      },
      { emit: ['ready', '{{ member }}'] },
      { hold: true },
    ],
    said,
  );
  assert.doesNotMatch(text + said, /hunter2|eyJ/);
});

it('init reads a token of an earlier login from the environment', async (t) => {
  const { code, said, flow, text } = await initFrom(
    t,
    'token',
    ({ log: { entries } }) => ({ log: { entries: entries.filter(({ request }) => !request.url.includes('/api/')) } }),
    '--listen',
    '0',
  );
  assert.equal(code, 0, said);
  assert.deepEqual(flow?.[0], { connect: { auth: { token: '{{ $env.TOKEN }}', userId: '{{ $env.USER_ID }}' } } });
  assert.match(said, /Each run reads TOKEN, USER_ID from the environment/);
  assert.doesNotMatch(text + said, /eyJ/);
});

/** Changes the recording to one of Firefox, with headers before a form, and of Safari, without WebSockets. */
const OTHER_BROWSERS = [
  ({ log: { entries } }: Har) => {
    const withHeaders = (text: string) => text.replace(/^_csrf/, 'Content-Type: x\r\nContent-Length: 9\r\n\r\n$&');
    const changed = entries.map(({ _webSocketMessages: _, request, ...entry }) => {
      const { postData = { text: '' } } = request;
      return {
        ...entry,
        time: 0,
        request: { ...request, postData: { ...postData, text: withHeaders(postData.text) } },
      };
    });
    return { log: { entries: changed } };
  },
  ({ log: { entries } }: Har) => {
    const http = entries.filter(({ request: { url } }) => !url.startsWith('ws:'));
    const upgraded = { ...http.at(-1), response: { content: { mimeType: 'text/plain', text: '6' } } };
    return { log: { entries: [...http, upgraded as (typeof http)[number]] } };
  },
];

it('init reports a recording without WebSocket messages, and writes the rest of the scenario', async (t) => {
  for (const change of OTHER_BROWSERS) {
    const { code, said, flow, text } = await initFrom(t, 'form', change);
    assert.equal(code, 0, said);
    assert.match(said, /has no messages of the WebSocket.*Chrome or Edge/);
    assert.deepEqual(flow, [...EXPECTED.form.flow, { hold: true }]);
    assert.match(text, EXPECTED.form.options);
  }
});

it('init leaves out malformed and hostile parts of a recording', async (t) => {
  const hostile = ({ log: { entries } }: Har) => {
    const bad = [null, 7, { request: { url: 'javascript:alert(1)', method: 'GET' } }, { startedDateTime: 'never' }];
    const messages = entries.findLast(({ _webSocketMessages }) => _webSocketMessages)?._webSocketMessages ?? [];
    messages.unshift({
      type: 'send',
      time: 1.1e9,
      opcode: 1,
      data: '42/rooms,["mark",{"{{ $env.HOME }}":"{{{ $env.HOME }}}"}]',
    });
    messages.push(
      { type: 'send', time: 1.9e9, opcode: 1, data: '42/rooms,["{{ $env.HOME }}","{{ $env.HOME }}"]' },
      { type: 'receive', time: 1.9e9, opcode: 1, data: '42/rooms,["said",' },
      { type: 'receive', time: 1.9e9, opcode: 1, data: `42${'['.repeat(90_000)}` },
      { type: 'receive', opcode: 'x' },
    );
    return { log: { entries: [...entries, ...(bad as never[])] } };
  };
  const { code, said, flow, settings } = await initFrom(t, 'open', hostile);
  assert.equal(code, 0, said);
  const mark = { emit: ['mark', { '{ { $env.HOME }}': '{ { { $env.HOME }}}' }], namespace: '/rooms' };
  const [connect, ...others] = EXPECTED.open.flow;
  assert.deepEqual(flow, [connect, mark, ...others, { hold: true }]);
  assert.equal(settings?.delivery?.event, 'said');
});

it('init refuses recordings without a measurable connection', async (t) => {
  const cwd = tempFolder(t);
  const old = {
    startedDateTime: '2026-01-01T00:00:00Z',
    request: { method: 'GET', url: 'http://a/?EIO=3&transport=polling' },
    response: {},
  };
  for (const [text, why] of [
    ['{"log": ', /has no `log\.entries`/],
    ['[]', /has no `log\.entries`/],
    ['{"log": {"entries": []}}', /has no Socket\.IO connection among its 0 requests/],
    [JSON.stringify({ log: { entries: [old] } }), /Socket\.IO 2: not supported/],
  ] as const) {
    writeFileSync(join(cwd, 'session.har'), text);
    const { code, stderr } = await cli(cwd, 'init', '--har', 'session.har');
    assert.deepEqual([code, why.test(stderr)], [2, true], stderr);
  }
  assert.match((await cli(cwd, 'init', '--har', '.')).stderr, /FILE_UNREADABLE: \. cannot be read/);
});
