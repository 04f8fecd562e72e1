/** `init --publish` with `$room`, where clients join rooms by an event. */
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { Server } from 'socket.io';
import { startChat } from '../../helpers/chat-server.ts';
import { cli } from '../../helpers/cli.ts';
import { SECONDS, written } from '../../helpers/init.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

const POST = '["post", {"board": "$room", "id": "$id"}]';

async function init(t: TestContext, setUp: (io: Server) => void, ...args: string[]) {
  const server = await startChat(t, setUp);
  const cwd = tempFolder(t);
  const answer = await cli(cwd, 'init', '--url', server.url, '--listen', SECONDS, '--publish', POST, ...args);
  assert.equal(answer.code, 0, answer.stderr);
  return { ...answer, ...(await written(cwd)) };
}

/** @param join of a client @returns the room, and what the acknowledgement says */
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
  'an argument of the join names it': {
    emit: ['join', { size: 3, of: { board: 'news' } }],
    join: ({ of }: { of: { board: string } }) => ({ room: of.board, answer: { status: 'ok' } }),
    client: ['0', 'of', 'board'],
  },
  'the answer names it': {
    emit: ['join', 'ann'],
    join: () => ({ room: 'red', answer: { board: 'red' } }),
    client: ['0', 'board'],
  },
};

for (const [name, { emit, join, client }] of Object.entries(CASES)) {
  it(`counts what goes to a room, where ${name}`, async (t) => {
    const { flow, settings } = await init(t, boards(join), '--namespace', '/a', '--emit', JSON.stringify(emit));
    assert.deepEqual(flow?.[1], { emit, namespace: '/a', acknowledge: true });
    assert.equal(flow?.length, 3);
    const { event, id, join: joins, audience } = settings?.delivery ?? {};
    assert.deepEqual([event, id, joins], ['posted', ['0', 'id'], 'join']);
    assert.deepEqual(audience, { event: ['0', 'in'], client });
  });
}

it('says what to write where the join is not acknowledged', async (t) => {
  const silent = boards((room: string) => ({ room }));
  const { stdout, settings } = await init(t, silent, '--namespace', '/a', '--emit', '["join", "news"]');
  assert.equal(settings?.delivery, undefined);
  assert.match(stdout, /write its name in place of "\$room"/);
});
