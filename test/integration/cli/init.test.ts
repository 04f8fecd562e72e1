/** `init` looks at a real server, and writes a scenario that a run would accept. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Server } from 'socket.io';
import { readScenario } from '../../../plugin/cli/scenario.ts';
import { readSettings } from '../../../plugin/script/settings.ts';
import { STEPS } from '../../../plugin/virtual-user/steps/index.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { type Answer, CLEAR_LINE, cli, cliOnTerminal, END_OF_INPUT, noTerminal } from '../../helpers/cli.ts';
import { eventually } from '../../helpers/poll.ts';

/** Long enough for the publisher's start, and for several messages. */
const SECONDS = '1';

/** @param args of `init`, beside the URL */
async function init(t: TestContext, setUp: (io: Server) => void, ...args: string[]) {
  const server = await startChat(setUp);
  t.after(() => server.close());
  const cwd = folder(t);
  const answer = await cli(cwd, 'init', '--url', server.url, '--listen', SECONDS, ...args);
  await eventually('it has left', () => server.io.engine.clientsCount === 0);
  return { ...answer, ...(await written(cwd)) };
}

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'init-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

/** The scenario as a run would read it; undefined if there is none. */
async function written(cwd: string) {
  const path = join(cwd, 'capacity.yml');
  if (!existsSync(path)) return { flow: undefined, settings: undefined };
  const script = await readScenario(path, undefined);
  return { flow: script.scenarios?.[0]?.flow, settings: readSettings(script, STEPS, {}) };
}

/** Sends to the room `news`, as soon as there is anybody. */
function newsServer(t: TestContext) {
  return (io: Server) => {
    let count = 0;
    const timer = setInterval(() => {
      io.to('news').emit('headline', { id: `n-${++count}`, at: new Date().toISOString() });
    }, 50);
    t.after(() => clearInterval(timer));
    io.on('connection', (socket) => {
      socket.emit('welcome', { id: socket.id }); // not the same for all
      socket.on('subscribe', ({ room }: { room: string }) => socket.join(room));
    });
  };
}

it('finds the event of a server that sends by itself, once it has joined', async (t) => {
  const emit = ['subscribe', { room: 'news' }];
  const args = ['--emit', JSON.stringify(emit), '--connections', '100'];
  const { code, stdout, stderr, settings, flow } = await init(t, newsServer(t), ...args);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /"headline" will be counted: the id is at \$\.0\.id, the time at \$\.0\.at/);
  assert.deepEqual(flow, [{ emit }, { hold: true }]);
  assert.equal(settings?.load.connections, 100);
  const { event, id, sentAt, publish } = settings?.delivery ?? {};
  assert.deepEqual([event, id, sentAt, publish], ['headline', ['0', 'id'], ['0', 'at'], undefined]);
});

it('finds where a chat puts the id that was published, also if it does not send it back to its publisher', async (t) => {
  const chat = (io: Server) => {
    io.on('connection', (socket) => socket.on('say', (said) => socket.broadcast.emit('said', { from: 'ann', said })));
  };
  const { code, stderr, settings } = await init(t, chat, '--publish', '["say", {"key": "$id", "text": "hello"}]');
  assert.equal(code, 0, stderr);
  assert.deepEqual([settings?.delivery?.event, settings?.delivery?.id], ['said', ['0', 'said', 'key']]);
  assert.deepEqual(settings?.delivery?.publish?.emit, { event: 'say', args: [{ key: '$id', text: 'hello' }] });
});

it('never writes a name of the server as a template', async (t) => {
  const secret = '{{ $env.HOME }}';
  for (const [event, key] of [
    [secret, 'id'],
    ['news', `${secret}_id`],
  ] as const) {
    let count = 0;
    const templates = (io: Server) => {
      const timer = setInterval(() => io.emit(event, { [key]: `m-${++count}` }), 50);
      t.after(() => clearInterval(timer));
    };
    const { code, stdout, stderr, settings } = await init(t, templates, '--emit', '["subscribe"]');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /Names with “{{” cannot be used/);
    assert.deepEqual([settings?.delivery, stdout.includes(process.env.HOME as string)], [undefined, false]);
  }
});

it('asks for an event where it finds none, and writes what to fill in where one was given', async (t) => {
  const silent = await init(t, newsServer(t));
  assert.equal(silent.code, 2);
  assert.match(silent.stderr, /^EVENT_NOT_FOUND: .*The server sent "welcome" \(1\)/);
  assert.match(silent.stderr, /--emit '\["subscribe", "news"\]'[\s\S]*--publish[\s\S]*--listen 0/);
  assert.equal(silent.settings, undefined);
  const given = await init(t, () => {}, '--emit', '["subscribe"]');
  assert.equal(given.code, 0, given.stderr);
  assert.match(given.stdout, /The server sent no event/);
  assert.equal(given.settings?.delivery, undefined);
});

it('says why it cannot connect', async (t) => {
  const { code, stderr } = await init(t, (io) => io.use((_socket, next) => next(new Error('bad token'))));
  assert.equal(code, 2);
  assert.match(stderr, /TARGET_UNREACHABLE: [\s\S]*bad token[\s\S]*--listen 0/);
});

it('names all invalid options before it connects', async () => {
  const args = ['--join', 'a', '--emit', '["b"]', '--publish', '{"event": "c"}'];
  const { code, stderr } = await cli(tmpdir(), 'init', ...args);
  assert.equal(code, 2);
  assert.match(stderr, /^CONFIG_INVALID/);
  for (const line of [/--publish: expected JSON/, /--emit: give it or --join/, /--url: expected a URL/])
    assert.match(stderr, line);
});

describe('on a terminal', { skip: noTerminal }, () => {
  const URL_QUESTION = /URL of the server/;
  const CONNECTIONS = /Connections/;
  const INSTRUMENTED = /instrument\(io\)/;
  const EMIT = /What a client emits/;
  const PUBLISH = /What makes it send/;

  /** @param answers from the third question on; the first two are those for the URL and the connections */
  async function asked(t: TestContext, setUp: (io: Server) => void, answers: Answer[], ...args: string[]) {
    const server = await startChat(setUp);
    t.after(() => server.close());
    const cwd = folder(t);
    const first: Answer[] = [
      [URL_QUESTION, server.url],
      [CONNECTIONS, '40'],
    ];
    const answer = await cliOnTerminal(cwd, [...first, ...answers], 'init', '--listen', SECONDS, ...args);
    await eventually('it has left', () => server.io.engine.clientsCount === 0);
    return { ...answer, ...(await written(cwd)) };
  }

  it('asks what a client emits, and finds the event that it gets for it', async (t) => {
    const answers: Answer[] = [
      [INSTRUMENTED, 'n'],
      [EMIT, '["subscribe", {"room": "news"}]'],
      [PUBLISH, ''],
    ];
    const { code, shown, left, flow, settings } = await asked(t, newsServer(t), answers);
    assert.deepEqual([code, left], [0, []], shown);
    assert.match(shown, /"headline" will be counted: the id is at \$\.0\.id/);
    assert.deepEqual(flow, [{ emit: ['subscribe', { room: 'news' }] }, { hold: true }]);
    assert.deepEqual([settings?.load.connections, settings?.delivery?.event], [40, 'headline']);
  });

  it('asks what makes the server send, and not what an option has said', async (t) => {
    const chat = (io: Server) => {
      io.on('connection', (socket) => socket.on('say', (said) => io.emit('said', said)));
    };
    const answers: Answer[] = [
      [INSTRUMENTED, ''],
      [PUBLISH, '["say", {"id": "$id"}]'],
    ];
    const { code, shown, left, flow, settings } = await asked(t, chat, answers, '--join', 'enter', '--room', 'hall');
    assert.deepEqual([code, left], [0, []], shown);
    assert.deepEqual(flow, [{ emit: ['enter', 'hall'] }, { hold: true }]);
    assert.deepEqual(settings?.delivery?.publish?.emit, { event: 'say', args: [{ id: '$id' }] });
  });

  it('writes what to fill in for a server that sends nothing to count', async (t) => {
    const answers: Answer[] = [
      [INSTRUMENTED, 'n'],
      [EMIT, ''],
      [PUBLISH, ''],
    ];
    const { code, shown, left, flow, settings } = await asked(t, () => {}, answers);
    assert.deepEqual([code, left], [0, []], shown);
    assert.match(shown, /The server sent no event/);
    assert.deepEqual([flow, settings?.delivery], [[{ connect: true }, { hold: true }], undefined]);
  });

  it('says what is wrong with an answer, and asks for it again', async (t) => {
    const answers: Answer[] = [
      [INSTRUMENTED, 'n'],
      [EMIT, 'subscribe news'],
      [/expected JSON: \["<event>"/, `${CLEAR_LINE}["subscribe"]`],
      [PUBLISH, ''],
    ];
    const { code, shown, left, flow } = await asked(t, () => {}, answers);
    assert.deepEqual([code, left, flow], [0, [], [{ emit: ['subscribe'] }, { hold: true }]], shown);
  });

  it('ends without a file where the input ends', async (t) => {
    const { code, shown, left, flow } = await asked(t, () => {}, [[INSTRUMENTED, END_OF_INPUT]]);
    assert.deepEqual([code, left, flow], [2, [], undefined], shown);
    assert.match(shown, /CONFIG_INVALID: the questions were not answered/);
  });
});
