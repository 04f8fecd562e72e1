/** Tests `init --publish` with `$room`, for servers whose clients join rooms by an event. */
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { Server } from 'socket.io';
import { good } from '../../helpers/init.ts';

const POST = '["post", {"board": "$room", "id": "$id"}]';

const initPosts = (t: TestContext, setUp: (io: Server) => void, ...args: string[]) =>
  good(t, setUp, '--publish', POST, ...args);

/**
 * Returns a server with boards.
 * @param join handles the join of a client, and returns the room and the acknowledgement
 */
function boards(join: (...args: never[]) => { room: string; answer?: unknown }) {
  return (io: Server) =>
    io.of('/a').on('connection', (socket) => {
      socket.on('join', (...args) => {
        const { room, answer } = join(...(args as never[]));
        socket.join(`board ${room}`);
        if (answer !== undefined) args.at(-1)(answer);
      });
      socket.on('post', ({ board, ...post }) =>
        io
          .of('/a')
          .to(`board ${board}`)
          .emit('posted', { ...post, in: board }),
      );
    });
}

const CASES: Record<string, { emit: unknown[]; join: Parameters<typeof boards>[0]; client: string[] }> = {
  'an argument of the join contains the room': {
    emit: ['join', { size: 3, of: { board: 'news' } }],
    join: ({ of }: { of: { board: string } }) => ({ room: of.board, answer: { status: 'ok' } }),
    client: ['0', 'of', 'board'],
  },
  'the acknowledgement contains the room': {
    emit: ['join', 'ann'],
    join: () => ({ room: 'red', answer: { board: 'red' } }),
    client: ['0', 'board'],
  },
};

for (const [name, { emit, join, client }] of Object.entries(CASES)) {
  it(`init counts messages to a room if ${name}`, async (t) => {
    const { flow, settings } = await initPosts(t, boards(join), '--namespace', '/a', '--emit', JSON.stringify(emit));
    assert.deepEqual(flow?.[1], { emit, namespace: '/a', acknowledge: true });
    assert.equal(flow?.length, 3);
    const { event, id, join: joins, audience } = settings?.delivery ?? {};
    assert.deepEqual([event, id, joins], ['posted', ['0', 'id'], 'join']);
    assert.deepEqual(audience, { event: ['0', 'in'], client });
  });
}

it('init counts messages to a user whose id a login captured, and tries no other room', async (t) => {
  let count = 0;
  let posts = 0;
  const messenger = (io: Server) => {
    io.httpServer.prependListener('request', (request, response) => {
      if (request.url === '/login') response.end(JSON.stringify({ user: { id: `u-${++count}`, name: 'ann' } }));
    });
    io.on('connection', (socket) => {
      const { user } = socket.handshake.auth;
      socket.join(user);
      socket.emit('profile', Object.fromEntries(Array.from({ length: 20 }, (_, nth) => [`p${nth}`, `${user} ${nth}`])));
      socket.on('post', ({ board, id }) => {
        posts++;
        io.to(board).emit('posted', { for: board, id });
      });
    });
  };
  const login = { post: { url: '/login', capture: { json: '$.user.id', as: 'userId' } } };
  const auth = ['--auth', '{"user": "{{ userId }}"}'];
  const { flow, settings } = await initPosts(t, messenger, '--login', JSON.stringify(login), ...auth);
  assert.equal(flow?.length, 3, 'the login already captures the room');
  assert.deepEqual(settings?.delivery?.audience, { event: ['0', 'for'], client: 'userId' });
  assert.ok(posts < 6, `${posts} posts`);
});

it('init logs in by an event whose acknowledgement contains the namespace', async (t) => {
  const tenants = (io: Server) => {
    const team = io.of('/t-7');
    team.use((socket, next) => next(socket.handshake.auth.key === 'k' ? undefined : new Error('no key')));
    team.on('connection', (socket) => {
      socket.on('post', ({ id }, done) => {
        team.emit('posted', { id });
        done();
      });
    });
    io.on('connection', (socket) => socket.on('login', (_user, done) => done({ team: '/t-7', key: 'k' })));
  };
  const capture = ['team', 'key'].map((name) => ({ json: `$.${name}`, as: name }));
  const login = { emit: ['login', 'ann'], acknowledge: { capture } };
  const connect = { namespace: '{{ team }}', auth: { key: '{{ key }}' } };
  const options = [
    '--login',
    JSON.stringify(login),
    '--namespace',
    connect.namespace,
    '--auth',
    '{"key": "{{ key }}"}',
  ];
  const { flow, settings } = await initPosts(t, tenants, ...options, '--publish', '["post", {"id": "$id"}]');
  assert.deepEqual(flow, [login, { connect }, { hold: true }]);
  assert.deepEqual([settings?.delivery?.event, settings?.delivery?.id], ['posted', ['0', 'id']]);
});

it('init keeps the connection on which a user has logged in, as socket.io-client does', async (t) => {
  const joined: unknown[] = [];
  const members = (io: Server) => {
    const loggedIn = new Set<unknown>();
    io.of('/team').on('connection', (socket) => {
      socket.on('join', () => loggedIn.has(socket.conn) && socket.join('hall'));
      socket.on('post', ({ id }) => io.of('/team').to('hall').emit('posted', { id }));
    });
    io.on('connection', (socket) => {
      joined.push(socket.conn);
      socket.on('login', (_user, done) => {
        loggedIn.add(socket.conn);
        done('ok');
      });
      socket.on('post', ({ id }) => loggedIn.has(socket.conn) && io.emit('posted', { id }));
    });
  };
  const login = { emit: ['login', 'ann'], acknowledge: true };
  for (const [options, joinSteps] of [
    [[], []],
    [['--namespace', '/team', '--emit', '["join"]'], [{ emit: ['join'], namespace: '/team' }]],
  ] as const) {
    const post = ['--publish', '["post", {"id": "$id"}]'];
    const { flow, settings } = await initPosts(t, members, '--login', JSON.stringify(login), ...options, ...post);
    assert.deepEqual(flow, [login, ...joinSteps, { hold: true }]);
    assert.equal(settings?.delivery?.event, 'posted');
    assert.equal(joined.splice(0).length, 3, 'one connection for each of the three clients');
  }
});

it('init replaces the room of an unacknowledged join by a variable with several values', async (t) => {
  const silent = boards((_user: unknown, { board }: { board: number }) => ({ room: String(board) }));
  const emit = ['join', 'ann', { board: 7 }];
  const { flow, settings, variables } = await initPosts(t, silent, '--namespace', '/a', '--emit', JSON.stringify(emit));
  assert.deepEqual(variables, { room: [7] });
  assert.deepEqual(flow?.[1], { emit: ['join', 'ann', { board: '{{ room }}' }], namespace: '/a' });
  const { event, id, join, audience } = settings?.delivery ?? {};
  assert.deepEqual([event, id, join], ['posted', ['0', 'id'], undefined]);
  assert.deepEqual(audience, { event: ['0', 'in'], client: 'room' });
});

it('init reports the missing room if no event contains one', async (t) => {
  const hidden = boards(() => ({ room: 'hall' }));
  const { stdout, settings } = await initPosts(t, hidden, '--namespace', '/a', '--emit', '["join", "news"]');
  assert.equal(settings?.delivery, undefined);
  assert.match(stdout, /an event of --emit must name the room/);
});

it('init reports an event that contains the message id, but not the message’s room', async (t) => {
  const roomless = (io: Server) =>
    io.on('connection', (socket) => {
      socket.on('join', (room, answer) => answer({ joined: socket.join(room) === undefined }));
      socket.on('post', ({ board, id }) => io.to(board).emit('posted', { id }));
    });
  const { stdout, settings } = await initPosts(t, roomless, '--emit', '["join", "news"]');
  assert.equal(settings?.delivery, undefined);
  assert.match(stdout, /"posted" carried the published id, but no room: .*io\.to\(room\)\.emit\('posted'/);
});
