/** Tests that `init` examines a real server, and writes a scenario that a run accepts. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Server as HttpServer, IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import type { Namespace, Server, Socket } from 'socket.io';
import * as msgpack from 'socket.io-msgpack-parser';
import { redirectSlashes, startChat, WITHOUT_SLASH } from '../../helpers/chat-server.ts';
import { cli } from '../../helpers/cli.ts';
import { oldServer } from '../../helpers/ending-server.ts';
import { good, init, SECONDS, written } from '../../helpers/init.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

/** @returns the command-line options for a connection, such as `--auth '{"token": …}'` */
function optionsOf(connect: object): string[] {
  const typed = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  return Object.entries(connect).flatMap(([name, value]) => [`--${name}`, typed(value)]);
}

function everyTick(t: TestContext, send: (n: number) => void): void {
  let n = 0;
  const timer = setInterval(() => send(++n), 50);
  t.after(() => clearInterval(timer));
}

/** Returns a server that sends to the room `news` from the start. */
function newsServer(t: TestContext) {
  return (io: Server) => {
    everyTick(t, (n) => io.to('news').emit('headline', { id: `n-${n}`, at: new Date().toISOString() }));
    io.on('connection', (socket) => {
      socket.emit('welcome', { id: socket.id });
      socket.on('subscribe', ({ room }: { room: string }) => {
        socket.join(room);
        socket.emit('joined', { room });
      });
    });
  };
}

it('init finds the event of a server that sends periodically, after a join', async (t) => {
  const emit = ['subscribe', { room: 'news' }];
  const args = ['--emit', JSON.stringify(emit), '--connections', '100'];
  const { stdout, settings, flow, text } = await good(t, newsServer(t), ...args);
  assert.match(text, /^ *# What init saw: .*"headline"/m);
  assert.match(stdout, /\[\{"room":"news"\}\]/, 'a room is no secret');
  assert.match(stdout, /"headline" will be counted: the id is at \$\.0\.id, the time at \$\.0\.at/);
  assert.deepEqual(flow, [{ emit }, { hold: true }]);
  assert.equal(settings?.load.connections, 100);
  const { event, id, sentAt, publish } = settings?.delivery ?? {};
  assert.deepEqual([event, id, sentAt, publish], ['headline', ['0', 'id'], ['0', 'at'], undefined]);
});

it('init finds the id of a published message in a chat’s event, even if the publisher gets no copy', async (t) => {
  const chat = (io: Server) => {
    io.on('connection', (socket) => socket.on('say', (said) => socket.broadcast.emit('said', { from: 'ann', said })));
  };
  const { settings } = await good(t, chat, '--publish', '["say", {"key": "$id", "text": "hello"}]');
  assert.deepEqual([settings?.delivery?.event, settings?.delivery?.id], ['said', ['0', 'said', 'key']]);
  assert.deepEqual(settings?.delivery?.publish?.emit, { event: 'say', args: [{ key: '$id', text: 'hello' }] });
});

it('init names the missing parser of a server, and finds its event with it', async (t) => {
  const server = { setUp: newsServer(t), parser: msgpack };
  const emit = ['--emit', '["subscribe", {"room": "news"}]'];
  const without = await init(t, server, ...emit);
  assert.equal(without.code, 2);
  assert.match(without.stderr, /if the server has another `parser`, .*`init --parser`/);
  const { settings, text } = await good(t, server, ...emit, '--parser', 'msgpack');
  assert.match(text, /^ {4}socketio-capacity: \{ parser: "msgpack" \}$/m);
  assert.equal(settings?.delivery?.event, 'headline');
});

/** Messages of `init` about a partial delivery, and the sockets to which the server forwards `say`. */
const PARTLY: [reached: RegExp, to: (sockets: Socket[], sender: Socket) => Socket | undefined][] = [
  [/"said" came to one of two connections\. .* adapter .* room/, ([first]) => first],
  [/"said" came to one of two connections\. /, ([, second]) => second],
  [/"said" came only to the connection that published\. .* adapter/, (_, sender) => sender],
];
for (const [reached, to] of PARTLY) {
  it(`init counts an event that did not reach both clients, and suggests the adapter first: ${reached}`, async (t) => {
    const apart = (io: Server) =>
      io.on('connection', (socket) =>
        socket.on('say', (said) => to([...io.sockets.sockets.values()], socket)?.emit('said', said)),
      );
    const { stdout, settings } = await good(t, apart, '--publish', '["say", {"id": "$id"}]');
    assert.match(stdout, reached);
    assert.deepEqual([settings?.delivery?.event, settings?.delivery?.id], ['said', ['0', 'id']]);
  });
}

it("init reports the server's reaction to a published message that no client received", async (t) => {
  const publish = ['--publish', '["say", {"id": "$id"}]'];
  const refuses = (io: Server) =>
    io.on('connection', (socket) => socket.on('say', (_, done) => done({ error: 'you are muted' })));
  const muted = await good(t, refuses, ...publish);
  assert.match(muted.stdout, /It acknowledged "say" with \{"error":"you are muted"\}\. The server sent no event/);
  const moderated = (io: Server) =>
    io.on('connection', (socket) =>
      socket.on('say', () => socket.emit('exception', { message: 'Only moderators may post' })),
    );
  assert.match(
    (await good(t, moderated, ...publish)).stdout,
    /It answered the publisher with "exception" \{"message":"Only moderators may post"\}\. The server sent the other clients no event/,
  );
  const closes = (io: Server) => io.on('connection', (socket) => socket.on('say', () => socket.conn.close()));
  const closed = await init(t, closes, ...publish);
  assert.equal(closed.code, 2);
  assert.match(
    closed.stderr,
    /^PUBLISHER_CLOSED: before the load, the connection of a publisher ended after its first `say`: /,
  );
});

it('init finds the room of each user in an event of the server, and captures it in the flow', async (t) => {
  const messenger = (io: Server) => {
    const chat = io.of('/chat');
    let count = 0;
    chat.on('connection', (socket) => {
      const user = { id: `u-${++count}`, name: 'ann' };
      socket.join(user.id);
      socket.emit('session', { version: 7, user });
      socket.broadcast.emit('came', user);
      socket.on('say', ({ to, text }) => chat.to(to).to(user.id).emit('said', { text, from: user.id, to }));
    });
  };
  const publish = ['say', { text: '$id', to: '$room' }];
  const args = ['--namespace', '/chat', '--publish', JSON.stringify(publish)];
  const { flow, settings } = await good(t, messenger, ...args);
  assert.deepEqual(flow, [
    { connect: { namespace: '/chat' } },
    { waitFor: { event: 'session', namespace: '/chat', capture: { json: '$.0.user.id', as: 'room' } } },
    { hold: true },
  ]);
  const { event, id, audience } = settings?.delivery ?? {};
  assert.deepEqual([event, id, audience], ['said', ['0', 'text'], { event: ['0', 'to'], client: 'room' }]);
  // If the server announces no room, `init` must not invent one.
  const withoutRooms = (io: Server) =>
    io.on('connection', (socket) => socket.on('say', ({ text }) => io.emit('said', text)));
  const other = await good(t, withoutRooms, '--publish', JSON.stringify(publish));
  assert.match(other.stdout, /"said" carried the published id, but no room: .* leave `\$room` out of --publish/);
  assert.deepEqual([other.flow, other.settings?.delivery], [[{ connect: true }, { hold: true }], undefined]);
});

it('init never writes a name from the server as a template', async (t) => {
  const secret = '{{ $env.HOME }}';
  for (const [event, key] of [
    [secret, 'id'],
    ['news', `${secret}_id`],
  ] as const) {
    const templates = (io: Server) => everyTick(t, (n) => io.emit(event, { [key]: `m-${n}` }));
    const { stdout, settings } = await good(t, templates, '--emit', '["subscribe"]');
    assert.match(stdout, /Names with “{{” cannot be used/);
    assert.deepEqual([settings?.delivery, stdout.includes(process.env.HOME as string)], [undefined, false]);
  }
});

it('init asks for an event option if it finds no event, and writes a placeholder if the option is set', async (t) => {
  const silent = await init(t, newsServer(t));
  assert.equal(silent.code, 2);
  assert.match(silent.stderr, /^EVENT_NOT_FOUND: .*The server sent "welcome" \(1\)/);
  assert.match(silent.stderr, /--emit '\["subscribe", "news"\]'[\s\S]*--publish[\s\S]*--listen 0/);
  assert.equal(silent.settings, undefined);
  const given = await good(t, () => {}, '--emit', '["subscribe"]');
  assert.match(given.stdout, /The server sent no event/);
  assert.equal(given.settings?.delivery, undefined);
});

/** Sends events to all clients of a namespace. */
function sendTicks(t: TestContext, io: Server | Namespace) {
  everyTick(t, (n) => io.emit('tick', { id: `t-${n}` }));
}

it('init leaves out the slash at the end of the path if the server redirects to the path without it', async (t) => {
  const setUp = (io: Server) => redirectSlashes((io as unknown as { httpServer: HttpServer }).httpServer);
  const { settings, stdout } = await good(t, { setUp, ...WITHOUT_SLASH }, '--emit', '["join"]');
  assert.equal(settings?.connection.path, '/socket.io');
  assert.match(stdout, /308.*It connects with addTrailingSlash: false/);
});

it('init connects with path, namespace, auth and headers, and writes them to the scenario', async (t) => {
  const guarded = (io: Server) => {
    const chat = io.of('/chat');
    chat.use((socket, next) => next(socket.handshake.auth.token === 'a1' ? undefined : new Error('bad token')));
    io.engine.use((request: IncomingMessage, _response: unknown, next: (error?: Error) => void) => {
      next(request.headers['x-key'] === 'k' ? undefined : new Error('no key'));
    });
    sendTicks(t, chat);
  };
  const path = '/ws/';
  const connect = { namespace: '/chat', auth: { token: 'a1' }, headers: { 'x-key': 'k' } };
  const { flow, settings, stdout } = await good(t, { setUp: guarded, path }, ...optionsOf({ path, ...connect }));
  const auth = { token: '{{ $env.TOKEN }}' };
  const named = { namespace: '/chat', auth, headers: { 'x-key': '{{ $env.X_KEY }}' } };
  assert.deepEqual([flow, settings?.connection.path], [[{ connect: named }, { hold: true }], path]);
  assert.match(stdout, /Each run reads TOKEN, X_KEY from the environment/);
  for (const name of ['TOKEN', 'X_KEY']) delete process.env[name];
  assert.equal(settings?.delivery?.event, 'tick');
  const { url } = await startChat(t, (io) => sendTicks(t, io.of('/chat')));
  const cwd = tempFolder(t);
  assert.equal((await cli(cwd, 'init', '--url', `${url}/chat?v=2`, '--listen', SECONDS)).code, 0);
  assert.deepEqual((await written(cwd)).settings?.target, url);
  assert.deepEqual((await written(cwd)).flow, [{ connect: { namespace: '/chat', query: { v: '2' } } }, { hold: true }]);
});

it('init reads a password from the environment, and neither writes nor prints it', async (t) => {
  const password = 'Canary-5521';
  const guarded = (io: Server) => {
    io.use((socket, next) => next(socket.handshake.auth.password === password ? undefined : new Error('who?')));
    io.on('connection', (socket) => socket.emit('welcome', { password, text: `you are ${password}` }));
    sendTicks(t, io);
  };
  const options = ['--auth', '{"password": "{{ $env.INIT_TEST_PASSWORD }}"}'];
  const unset = await init(t, guarded, ...options);
  assert.match(unset.stderr, /CONFIG_INVALID: environment variable INIT_TEST_PASSWORD is not set/);
  process.env.INIT_TEST_PASSWORD = password;
  t.after(() => delete process.env.INIT_TEST_PASSWORD);
  const { said, flow } = await good(t, guarded, ...options);
  assert.ok(!said.includes(password), said);
  assert.ok(!JSON.stringify(flow).includes(password));
  assert.match(said, /"welcome" \(1\)/);
});

it('init keeps the cookies of an HTTP login, and leaves its template variables', async (t) => {
  const login = { post: { url: '/login', json: { user: 'u{{ $uuid }}' } } };
  const session = (io: Server) => {
    io.httpServer.prependListener('request', (request, response) => {
      if (request.url === '/login') response.writeHead(204, { 'set-cookie': 'sid=s1; Path=/' }).end();
    });
    io.use((socket, next) =>
      next(/sid=s1/.test(socket.handshake.headers.cookie ?? '') ? undefined : new Error('who?')),
    );
    sendTicks(t, io);
  };
  const { flow, settings } = await good(t, session, '--login', JSON.stringify(login));
  assert.deepEqual(flow, [login, { connect: true }, { hold: true }]);
  assert.equal(settings?.delivery?.event, 'tick');
});

it('init logs in by events, and requests an acknowledgement if a handler gives one', async (t) => {
  const calls: number[] = [];
  const chat = (io: Server) => {
    io.on('connection', (socket) => {
      socket.on('login', (name, answer) => answer({ ok: name === 'ann' }));
      socket.on('join', (...args) => {
        calls.push(args.length);
        socket.join('hall');
      });
    });
    everyTick(t, (n) => io.to('hall').emit('tick', { id: `t-${n}` }));
  };
  const { stdout, flow } = await good(t, chat, '--emit', '["login", "ann"], ["join"]');
  assert.match(stdout, /acknowledged "login" with \[\{"ok":true\}\]/);
  assert.deepEqual(flow, [{ emit: ['login', 'ann'], acknowledge: true }, { emit: ['join'] }, { hold: true }]);
  assert.equal(calls.length, 2);
});

it("init reports the server's refusal, and the options that the server requires", async (t) => {
  const refusals: Record<string, (io: Server) => void> = {
    'by a middleware': (io) => io.use((_socket, next) => next(new Error('invalid username'))),
    'by an event': (io) => {
      io.on('connection', (socket) => {
        socket.emit('failed', 'invalid username');
        socket.disconnect();
      });
    },
  };
  for (const [how, refuse] of Object.entries(refusals)) {
    const { code, stderr, settings } = await init(t, refuse, '--emit', '["login"]');
    assert.deepEqual([code, settings], [2, undefined], how);
    assert.match(
      stderr,
      /^TARGET_UNREACHABLE: [\s\S]*invalid username[\s\S]*--auth[\s\S]*--login[\s\S]*--listen 0/,
      how,
    );
  }
});

it('init reports Socket.IO 2, whatever its middleware or the login requires', async (t) => {
  const url = await oldServer(t, { refusal: 'Authentication error' });
  const login = ['--login', '{"post": {"url": "/login", "json": {}, "capture": {"json": "$.token", "as": "token"}}}'];
  for (const options of [[], login]) {
    const { code, stderr } = await cli(tempFolder(t), 'init', '--url', url, ...options);
    assert.equal(code, 2);
    assert.match(stderr, /^TARGET_UNREACHABLE: Socket\.IO 2: not supported/);
    assert.doesNotMatch(stderr, /--auth|--login/);
  }
});

it('init reports when, and after which event, the server closed an accepted connection', async (t) => {
  const kicks = (io: Server) =>
    io.on('connection', (socket) => {
      setTimeout(() => {
        socket.emit('bye', 'idle');
        socket.disconnect(true);
      }, 300);
      socket.on('say', (said) => io.emit('said', said));
    });
  const { code, stderr, settings } = await init(t, kicks, '--publish', '["say", {"id": "$id"}]');
  assert.deepEqual([code, settings], [2, undefined]);
  assert.match(
    stderr,
    /^TARGET_UNREACHABLE: the server accepted the connection to \S+, and ended it after 0\.\d s: .*bye "idle"/,
  );
  assert.match(stderr, /fix: see what a client must send to stay connected/);
});

it('init suggests checking the login event if the server closes the connection after it', async (t) => {
  const strict = (io: Server) =>
    io.on('connection', (socket) =>
      socket.on('authenticate', ({ token }) => {
        if (token === 'e-1') return;
        socket.emit('unauthorized');
        socket.disconnect(true);
      }),
    );
  const emit = ['--emit', '["authenticate", {"token": "e-2"}]'];
  for (const options of [[], ['--publish', '["say", {"id": "$id"}]']]) {
    const { code, stderr } = await init(t, strict, ...emit, ...options);
    assert.equal(code, 2);
    assert.match(stderr, /unauthorized[\s\S]*fix: check what "authenticate" sends/);
    assert.doesNotMatch(stderr, /user of its own/);
  }
  delete process.env.TOKEN;
});

it('init counts the copies of an event without an id', async (t) => {
  const prices = (io: Server) => everyTick(t, (n) => io.emit('price', { symbol: 'ABC', value: 100 + (n % 3) / 10 }));
  const { code, stdout, settings } = await init(t, prices);
  assert.deepEqual([code, settings?.counts, settings?.delivery], [0, [{ event: 'price' }], undefined], stdout);
  assert.match(stdout, /"price" came \d+ times without an id/);
});

it('init asks for different users if the server refuses the second connection of one user', async (t) => {
  const once = (io: Server) => {
    const users = new Set<string>();
    io.use(({ handshake: { auth } }, next) => {
      if (users.has(auth.user)) return next(new Error('connected twice'));
      users.add(auth.user);
      next();
    });
    sendTicks(t, io);
  };
  const { code, stderr } = await init(t, once, '--auth', '{"user": "ann"}');
  assert.equal(code, 2);
  assert.match(stderr, /connected twice[\s\S]*a user of its own[\s\S]*\$uuid/);
  const { settings } = await good(t, once, '--auth', '{"user": "{{ $uuid }}"}');
  assert.equal(settings?.delivery?.event, 'tick');
});

it('init reports an invalid option, and asks no questions without a terminal', async (t) => {
  const wrong = {
    '--auth': '7',
    '--headers': 'a: b',
    '--login': '{"emits": ["x"]}',
    '--emit': '{}',
    '--publish': '"say"',
  };
  const cwd = tempFolder(t);
  const { code, stderr } = await cli(cwd, 'init', '--connections', '3', ...Object.entries(wrong).flat());
  assert.deepEqual([code, stderr.split(':')[0]], [2, 'CONFIG_INVALID']);
  for (const option of ['--url', 'connections', ...Object.keys(wrong)]) {
    assert.match(stderr, new RegExp(`${option}.*: expected`));
  }
  assert.equal((await written(cwd)).flow, undefined);
});

it('init writes the given options with `--listen 0`, and does not overwrite a file', async (t) => {
  const cwd = tempFolder(t);
  const init = (...args: string[]) => cli(cwd, 'init', '--listen', '0', '--url', 'http://10.0.0.1', ...args);
  const { stdout } = await init('--json', '--instrumented');
  const { file, controlUrl, flow } = JSON.parse(stdout);
  assert.deepEqual(
    [file, controlUrl, flow],
    ['capacity.yml', 'http://10.0.0.1:3200', [{ emit: ['join_room', 'capacity'] }]],
  );
  const before = await written(cwd);
  const again = await init('--emit', '["subscribe", "news"]');
  assert.deepEqual([again.code, again.stderr.split(':')[0]], [2, 'FILE_UNWRITABLE']);
  assert.deepEqual(await written(cwd), before);
  assert.equal((await init('--emit', '["subscribe", "news"]', '--force')).code, 0);
  assert.deepEqual((await written(cwd)).flow, [{ emit: ['subscribe', 'news'] }, { hold: true }]);
});

it('init logs in with the user info of the URL, and does not write it', async (t) => {
  const isAnn = ({ headers }: IncomingMessage) => headers.authorization === `Basic ${btoa('ann:pa55')}`;
  const setUp = (io: Server) => {
    io.engine.opts.allowRequest = (request, done) => done(null, isAnn(request));
    everyTick(t, (n) => io.emit('tick', { id: n }));
  };
  const server = await startChat(t, setUp);
  const cwd = tempFolder(t);
  const url = server.url.replace('//', '//ann:pa55@');
  const { code, stdout, stderr } = await cli(cwd, 'init', '--url', url, '--listen', SECONDS);
  assert.equal(code, 0, stdout + stderr);
  const { flow } = await written(cwd);
  assert.deepEqual(flow, [{ connect: { headers: { Authorization: '{{ $env.AUTHORIZATION }}' } } }, { hold: true }]);
  assert.doesNotMatch(stdout + stderr, /pa55/);
  const form = /export (AUTHORIZATION)="(Basic .*)"$/m;
  const [, name, value = ''] = form.exec(stdout) ?? [];
  assert.equal(name, 'AUTHORIZATION');
  assert.match(readFileSync(join(cwd, 'capacity.yml'), 'utf8'), /^# .*export AUTHORIZATION="Basic /m);
  const set = execFileSync('sh', ['-c', `printf %s "${value}"`], { encoding: 'utf8' });
  assert.equal(set, `Basic ${Buffer.from('user:password').toString('base64')}`);
});

it('init reports a server that stopped between two connection attempts of init', async (t) => {
  const { code, stderr } = await init(t, (io) => {
    io.engine.on('connection', (connection) => {
      connection.close();
      void io.close();
    });
  });
  assert.equal(code, 2);
  assert.match(stderr, /then, with transports: \[polling, websocket\]: .*ECONNREFUSED/s);
});

it('init writes the transport of a server without WebSocket, and finds its event over polling', async (t) => {
  const given = { setUp: newsServer(t), transports: ['polling' as const] };
  const { settings } = await good(t, given, '--emit', '["subscribe", {"room": "news"}]');
  assert.deepEqual(settings?.connection.transports, ['polling']);
  assert.equal(settings?.delivery?.event, 'headline');
});

it('init writes polling before WebSocket for a server that closes direct WebSockets, and reports it', async (t) => {
  const news = newsServer(t);
  const setUp = (io: Server) => {
    io.engine.on('connection', (connection) => connection.transport.name === 'websocket' && connection.close());
    news(io);
  };
  const { settings, stdout } = await good(t, setUp, '--emit', '["subscribe", {"room": "news"}]');
  assert.deepEqual(settings?.connection.transports, ['polling', 'websocket']);
  assert.equal(settings?.delivery?.event, 'headline');
  assert.match(
    stdout,
    /then closed the WebSocket( \(code \d+\))?\. It connects with transports: \[polling, websocket\]/,
  );
});
