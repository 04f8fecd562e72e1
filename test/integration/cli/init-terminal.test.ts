/** Tests that `init` asks on a terminal for values that no option gives. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Server } from 'socket.io';
import { startChat } from '../../helpers/chat-server.ts';
import { type Answer, CLEAR_LINE, cliOnTerminal, END_OF_INPUT, noTerminal } from '../../helpers/cli.ts';
import { oldServer } from '../../helpers/ending-server.ts';
import { SECONDS, written } from '../../helpers/init.ts';
import { eventually } from '../../helpers/poll.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

describe('on a terminal', { skip: noTerminal }, () => {
  const URL_QUESTION = /URL of the server/;
  const CONNECTIONS = /Connections/;
  const INSTRUMENTED = /instrument\(io\)/;
  const LOGIN: Answer = [/How a client logs in/, ''];
  const EMIT = /What a client emits/;
  const PUBLISH = /What makes it send/;

  /** @param answers answers from the third question on, after the URL and the number of connections */
  async function initOnTerminal(t: TestContext, setUp: (io: Server) => void, answers: Answer[], ...args: string[]) {
    const server = await startChat(t, setUp);
    const cwd = tempFolder(t);
    const first: Answer[] = [
      [URL_QUESTION, server.url],
      [CONNECTIONS, '40'],
    ];
    const answer = await cliOnTerminal(cwd, [...first, ...answers], 'init', '--listen', SECONDS, ...args);
    await eventually('its client has disconnected', () => server.io.engine.clientsCount === 0);
    return { ...answer, ...(await written(cwd)) };
  }

  it('init asks for the event that makes the server send, and skips questions that an option answers', async (t) => {
    const chat = (io: Server) => {
      io.on('connection', (socket) => socket.on('say', (said) => io.emit('said', said)));
    };
    const answers: Answer[] = [[INSTRUMENTED, ''], LOGIN, [PUBLISH, '["say", {"id": "$id"}]']];
    const { code, shown, left, flow, settings } = await initOnTerminal(t, chat, answers, '--emit', '["enter", "hall"]');
    assert.deepEqual([code, left], [0, []], shown);
    assert.deepEqual(flow, [{ emit: ['enter', 'hall'] }, { hold: true }]);
    assert.deepEqual([settings?.load.connections, settings?.delivery?.event], [40, 'said']);
    assert.deepEqual(settings?.delivery?.publish?.emit, { event: 'say', args: [{ id: '$id' }] });
  });

  it('init asks no further questions if the server uses instrument(io)', async (t) => {
    const { code, shown, left, settings } = await initOnTerminal(t, () => {}, [[INSTRUMENTED, 'y']]);
    assert.deepEqual([code, left], [0, []], shown);
    assert.equal(settings?.control?.urls.length, 1);
  });

  it('init reports an invalid answer to a question, and asks again', async (t) => {
    const answers: Answer[] = [
      [INSTRUMENTED, 'n'],
      LOGIN,
      [EMIT, 'subscribe news'],
      [/expected JSON: \["<event>"/, `${CLEAR_LINE}["subscribe"]`],
      [PUBLISH, ''],
    ];
    const { code, shown, left, flow } = await initOnTerminal(t, () => {}, answers);
    assert.deepEqual([code, left, flow], [0, [], [{ emit: ['subscribe'] }, { hold: true }]], shown);
  });

  it('init asks nothing about logins if the server speaks Socket.IO 2', async (t) => {
    const url = await oldServer(t);
    const { code, shown, left } = await cliOnTerminal(tempFolder(t), [[URL_QUESTION, url]], 'init');
    assert.deepEqual([code, left], [2, []], shown);
    assert.match(shown, /Socket\.IO 2: not supported/);
    assert.doesNotMatch(shown, /--auth|--login/);
  });

  it('init asks for the password of a login, and does not echo it', async (t) => {
    const guarded = (io: Server) => {
      io.use((socket, next) => next(socket.handshake.auth.token === 'Typed-8812' ? undefined : new Error('who?')));
    };
    const answers: Answer[] = [
      [INSTRUMENTED, 'n'],
      [EMIT, ''],
      [PUBLISH, ''],
      [/ASKED_TOKEN \(is not shown, and not written\)/, 'Typed-8812'],
      // If the answers stay empty, a scenario that measures only connections is written.
      [/EVENT_NOT_FOUND[\s\S]*leave both empty[\s\S]*What a client emits/, ''],
      [PUBLISH, ''],
    ];
    const auth = '{"token": "{{ $env.ASKED_TOKEN }}"}';
    const { code, shown, left, flow } = await initOnTerminal(t, guarded, answers, '--auth', auth);
    assert.deepEqual([code, left], [0, []], shown);
    assert.ok(!shown.includes('Typed-8812'), shown);
    assert.deepEqual(flow, [{ connect: { auth: { token: '{{ $env.ASKED_TOKEN }}' } } }, { hold: true }]);
  });

  it('init keeps all answers after a failed login, and repeats the question about the wrong one', async (t) => {
    const chat = (io: Server) => {
      io.httpServer.prependListener('request', (request, response) => {
        if (request.url === '/auth/login') response.end(JSON.stringify({ accessToken: 'j-1', user: { id: 1 } }));
      });
      io.use((socket, next) => next(socket.handshake.auth.token === 'j-1' ? undefined : new Error('no token')));
      io.on('connection', (socket) => socket.on('say', (said) => io.emit('said', said)));
    };
    const answers: Answer[] = [
      [INSTRUMENTED, 'n'],
      [/How a client logs in/, 'jwt'],
      [/Path of the login.*\/auth\/login/, ''],
      [/What the login sends/, '{"username": "ann"}'],
      [/Where its answer has the token/, ''],
      [EMIT, ''],
      [PUBLISH, '["say", {"id": "$id"}]'],
      [/the answer has: accessToken, user \(id\)[\s\S]*Where its answer has the token/, '$.accessToken'],
    ];
    const { code, shown, left, flow, settings } = await initOnTerminal(t, chat, answers);
    assert.deepEqual([code, left], [0, []], shown);
    const capture = { json: '$.accessToken', as: 'token' };
    const post = { url: '/auth/login', json: { username: 'ann' }, capture };
    assert.deepEqual(flow, [{ post }, { connect: { auth: { token: '{{ token }}' } } }, { hold: true }]);
    assert.deepEqual([settings?.load.connections, settings?.delivery?.event], [40, 'said']);
  });

  it('init asks where the login token goes if the server refuses it, and then for the whole login', async (t) => {
    const chat = (io: Server) => {
      io.httpServer.prependListener('request', (request, response) => {
        if (request.url === '/login') response.end(JSON.stringify({ token: 'j-1' }));
      });
      io.use(({ handshake: { query } }, next) => next(query.token === 'j-1' ? undefined : new Error('no token')));
      io.on('connection', (socket) => socket.on('say', (said) => io.emit('said', said)));
    };
    const answers: Answer[] = [
      [INSTRUMENTED, 'n'],
      [/How a client logs in/, 'jwt'],
      [/Path of the login/, `${CLEAR_LINE}/login`],
      [/What the login sends/, '{"username": "ann"}'],
      [/Where its answer has the token/, ''],
      [EMIT, '["say", "$id"]'],
      [/"\$id" belongs to what makes the server send/, CLEAR_LINE],
      [PUBLISH, '["say", {"id": "$id"}]'],
      [/no token[\s\S]*Where the handshake carries it/, 'header'],
      [/no token[\s\S]*How a client logs in/, ''],
      [/Path of the login/, ''],
      [/What the login sends/, ''],
      [/Where its answer has the token/, ''],
      [/Where the handshake carries it/, `${CLEAR_LINE}query`],
    ];
    const { code, shown, left, flow } = await initOnTerminal(t, chat, answers);
    assert.deepEqual([code, left], [0, []], shown);
    assert.deepEqual(flow?.slice(1), [{ connect: { query: { token: '{{ token }}' } } }, { hold: true }]);
  });

  it('init asks for the path if the default path has no Socket.IO server', async (t) => {
    const server = await startChat(
      t,
      (io) => void io.on('connection', (one) => one.on('say', (said) => io.emit('said', said))),
      {
        path: '/realtime/',
        onRequest: (_request, response) => response.writeHead(404).end('Cannot GET'),
      },
    );
    const cwd = tempFolder(t);
    const answers: Answer[] = [
      [URL_QUESTION, server.url],
      [CONNECTIONS, '40'],
      [INSTRUMENTED, 'n'],
      LOGIN,
      [EMIT, ''],
      [PUBLISH, '["say", {"id": "$id"}]'],
      [/HTTP 404 at \/socket\.io\/[\s\S]*URL of the server/, ''],
      [/Path of Engine\.IO.*\/socket\.io\//, '/realtime/'],
    ];
    const { code, shown, left } = await cliOnTerminal(cwd, answers, 'init', '--listen', SECONDS);
    assert.deepEqual([code, left], [0, []], shown);
    assert.equal((await written(cwd)).settings?.connection.path, '/realtime/');
  });

  const LOGINS: Record<string, { answers: Answer[]; flow: object[] }> = {
    'a form with a cookie': {
      answers: [
        [/How a client logs in/, 'cookie'],
        [/Path of the login/, ''],
        [/What the login sends/, '{"user": "ann"}'],
      ],
      flow: [{ post: { url: '/login', form: { user: 'ann' } } }, { connect: true }],
    },
    'an event': {
      answers: [
        [/How a client logs in/, 'event'],
        [/The event that logs in/, '["login", "ann"]'],
      ],
      flow: [{ emit: ['login', 'ann'] }],
    },
    'the query': {
      answers: [
        [/How a client logs in/, 'query'],
        [/Query of the URL/, '{"user": "ann"}'],
      ],
      flow: [{ connect: { query: { user: 'ann' } } }],
    },
    'a header': {
      answers: [
        [/How a client logs in/, 'header'],
        [/Headers of the handshake/, '{"x-user": "ann"}'],
      ],
      flow: [{ connect: { headers: { 'x-user': 'ann' } } }],
    },
  };
  for (const [how, { answers, flow }] of Object.entries(LOGINS)) {
    it(`init asks for a login by ${how}`, async (t) => {
      const all: Answer[] = [[INSTRUMENTED, 'n'], ...answers, [EMIT, ''], [PUBLISH, '["say", "$id"]']];
      const login = (io: Server) => {
        io.httpServer.prependListener('request', (request, response) => request.url === '/login' && response.end());
      };
      const written = await initOnTerminal(t, login, all);
      assert.deepEqual([written.code, written.left], [0, []], written.shown);
      assert.deepEqual(written.flow, [...flow, { hold: true }]);
    });
  }

  it('init writes no file if the terminal input ends', async (t) => {
    const { code, shown, left, flow } = await initOnTerminal(t, () => {}, [[INSTRUMENTED, END_OF_INPUT]]);
    assert.deepEqual([code, left, flow], [2, [], undefined], shown);
    assert.match(shown, /CONFIG_INVALID: the questions were not answered/);
  });
});
