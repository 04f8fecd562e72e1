/** Tests that flows for other engines of Artillery run on this engine, with either client. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { after, suite, test } from 'node:test';
import type { Socket } from 'socket.io';
import type { UserContext } from '../../../plugin/virtual-user/user-types.ts';
import { redirectSlashes, startChat, WITHOUT_SLASH } from '../../helpers/chat-server.ts';
import { playOnce, readFlow } from '../../helpers/engine-run.ts';
import { startFlowServer } from '../../helpers/flow-server.ts';

const processor = {
  setToken: (context: UserContext, _events: unknown, next: () => void) => {
    context.extraHeaders = { 'x-auth-token': String(context.vars.token) };
    next();
  },
  fillIn: async (step: { emit: unknown[] }, context: UserContext) => {
    step.emit[1] = 'filled in for {{ name }}';
    context.extraHeaders = { 'x-auth-token': 'header of {{ name }}' };
  },
};
const vars = { name: 'ada', password: 'lovelace' };
const files = globSync('*.yml', { cwd: new URL('../../fixtures/flows/', import.meta.url) }).sort();

const answerEcho = (socket: Socket) => void socket.on('echo', (answer) => answer('pong'));
const target = await startFlowServer({ after });

for (const client of ['light', 'official']) {
  suite(`client: ${client}`, { concurrency: 2 }, () => {
    for (const file of files) {
      test(`the engine plays the flow ${file} of another engine without an error`, async () => {
        const flow = readFlow(file);
        const config = { target, engines: { 'socketio-capacity': { client, timeout: 2 } }, variables: vars, processor };
        const { error, counters } = await playOnce({ ...flow, config }, vars);
        assert.equal(error, null, `${error?.code}: ${error?.message}`);
        assert.ok(!Object.keys(counters).some((name) => name.startsWith('errors.')), JSON.stringify(counters));
      });
    }

    test('the engine connects without the slash at the end of the path if `addTrailingSlash` is false', async (t) => {
      for (const transports of [['websocket'], ['polling'], ['polling', 'websocket']]) {
        const { url, http } = await startChat(t, (io) => io.on('connection', answerEcho), WITHOUT_SLASH);
        redirectSlashes(http);
        const engines = { 'socketio-capacity': { client, transports } };
        const flow = [{ emit: ['echo'], acknowledge: { match: { value: 'pong' } } }];
        const play = (socketio: object) =>
          playOnce({ config: { target: url, engines }, scenarios: [{ engine: 'socketio-capacity', flow, socketio }] });
        assert.equal((await play({ addTrailingSlash: false })).error, null);
        assert.equal((await play({ addTrailingSlash: false, path: 'socket.io/' })).error, null);
        assert.ok((await play({})).error, 'redirected');
      }
    });

    test('the engine connects to a path of one slash, or a path written without slashes', async (t) => {
      for (const [path, written] of [
        ['/', '/'],
        ['/rooms/', 'rooms'],
      ] as const) {
        const engines = { 'socketio-capacity': { client, path: written } };
        const flow = [{ emit: ['echo', 'ping'], acknowledge: { match: { value: 'pong' } } }];
        const scenarios = [{ engine: 'socketio-capacity', flow }];
        const { error } = await playOnce({ config: { target: await startFlowServer(t, path), engines }, scenarios });
        assert.equal(error, null, `${path}: ${error?.message}`);
      }
    });
  });
}
