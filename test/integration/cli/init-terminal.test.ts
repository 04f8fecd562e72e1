/** `init` asks on a terminal for whatever no option gives. */
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
  const EMIT = /What a client emits/;
  const PUBLISH = /What makes it send/;

  /** @param answers from the third question on, after the URL and the connections */
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

  it('asks what makes the server send, and skips questions that an option answers', async (t) => {
    const chat = (io: Server) => {
      io.on('connection', (socket) => socket.on('say', (said) => io.emit('said', said)));
    };
    const answers: Answer[] = [
      [INSTRUMENTED, ''],
      [PUBLISH, '["say", {"id": "$id"}]'],
    ];
    const { code, shown, left, flow, settings } = await initOnTerminal(t, chat, answers, '--emit', '["enter", "hall"]');
    assert.deepEqual([code, left], [0, []], shown);
    assert.deepEqual(flow, [{ emit: ['enter', 'hall'] }, { hold: true }]);
    assert.deepEqual([settings?.load.connections, settings?.delivery?.event], [40, 'said']);
    assert.deepEqual(settings?.delivery?.publish?.emit, { event: 'say', args: [{ id: '$id' }] });
  });

  it('asks no more if the server has instrument(io)', async (t) => {
    const { code, shown, left, settings } = await initOnTerminal(t, () => {}, [[INSTRUMENTED, 'y']]);
    assert.deepEqual([code, left], [0, []], shown);
    assert.equal(settings?.control?.urls.length, 1);
  });

  it('reports an invalid answer, and asks again', async (t) => {
    const answers: Answer[] = [
      [INSTRUMENTED, 'n'],
      [EMIT, 'subscribe news'],
      [/expected JSON: \["<event>"/, `${CLEAR_LINE}["subscribe"]`],
      [PUBLISH, ''],
    ];
    const { code, shown, left, flow } = await initOnTerminal(t, () => {}, answers);
    assert.deepEqual([code, left, flow], [0, [], [{ emit: ['subscribe'] }, { hold: true }]], shown);
  });

  it('asks nothing about logins if the server speaks Socket.IO 2', async (t) => {
    const url = await oldServer(t);
    const { code, shown, left } = await cliOnTerminal(tempFolder(t), [[URL_QUESTION, url]], 'init');
    assert.deepEqual([code, left], [2, []], shown);
    assert.match(shown, /Socket\.IO 2: not supported/);
    assert.doesNotMatch(shown, /--auth|--login/);
  });

  it('asks for the password of a login, and does not echo it', async (t) => {
    const guarded = (io: Server) => {
      io.use((socket, next) => next(socket.handshake.auth.token === 'Typed-8812' ? undefined : new Error('who?')));
    };
    const answers: Answer[] = [
      [INSTRUMENTED, 'n'],
      [EMIT, ''],
      [PUBLISH, ''],
      [/ASKED_TOKEN \(is not shown, and not written\)/, 'Typed-8812'],
    ];
    const auth = '{"token": "{{ $env.ASKED_TOKEN }}"}';
    const { code, shown, left, flow } = await initOnTerminal(t, guarded, answers, '--auth', auth);
    assert.deepEqual([code, left], [0, []], shown);
    assert.ok(!shown.includes('Typed-8812'), shown);
    assert.deepEqual(flow, [{ connect: { auth: { token: '{{ $env.ASKED_TOKEN }}' } } }, { hold: true }]);
  });

  it('writes no file if the input ends', async (t) => {
    const { code, shown, left, flow } = await initOnTerminal(t, () => {}, [[INSTRUMENTED, END_OF_INPUT]]);
    assert.deepEqual([code, left, flow], [2, [], undefined], shown);
    assert.match(shown, /CONFIG_INVALID: the questions were not answered/);
  });
});
