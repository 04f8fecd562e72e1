/** `init` looks at a real server, and writes a scenario that a run would accept. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import type { Server } from 'socket.io';
import { readScenario } from '../../../plugin/cli/scenario.ts';
import { STEPS } from '../../../plugin/engine/steps/index.ts';
import { readSettings } from '../../../plugin/script/settings.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { cli } from '../../helpers/cli.ts';
import { eventually } from '../../helpers/poll.ts';

/** Long enough for the publisher's start, and for several messages. */
const SECONDS = '1';

/** @param args of `init`, beside the URL */
async function init(t: TestContext, setUp: (io: Server) => void, ...args: string[]) {
  const server = await startChat(setUp);
  t.after(() => server.close());
  const cwd = mkdtempSync(join(tmpdir(), 'init-'));
  t.after(() => rmSync(cwd, { recursive: true }));
  const answer = await cli(cwd, 'init', '--url', server.url, '--listen', SECONDS, ...args);
  await eventually('it has left', () => server.io.engine.clientsCount === 0);
  const path = join(cwd, 'capacity.yml');
  if (!existsSync(path)) return { ...answer, flow: undefined, settings: undefined };
  const script = await readScenario(path, undefined);
  return { ...answer, flow: script.scenarios?.[0]?.flow, settings: readSettings(script, STEPS, {}) };
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
  assert.match(stderr, /^BAD_OPTION/);
  for (const line of [/publish: expected JSON/, /emit: give it or --join/, /give at least --url/])
    assert.match(stderr, line);
});
