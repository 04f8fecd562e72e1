/** Scenarios of other engines make the same load after `adopt`, by what the server counts. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { runArtillery } from '../helpers/artillery.ts';
import { startChat } from '../helpers/chat-server.ts';
import { cli } from '../helpers/cli.ts';
import { goodResult, startRun } from '../helpers/run.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const USERS = 24;
const MATCH = { match: { json: '$.ok', value: true } };
const FRAME = '42["wave",{"n":1}]';

/** Public shapes of scenarios by name, each with the events of one user. */
const shapesAt = (url: string) => ({
  rooms: {
    ...{ engine: 'socketio-v3', sends: { enter: 1, say: 3 } },
    flow: [
      { emit: ['enter', 'hall'], acknowledge: MATCH },
      { loop: [{ emit: { channel: 'say', data: { text: '{{ $randomString(8) }}' } } }, { think: 1 }], count: 3 },
    ],
  },
  guarded: {
    ...{ engine: 'socketio-v3', sends: { ask: 1, poke: 1 } },
    flow: [
      { connect: { auth: { token: 'let me in' } }, namespace: '/guarded' },
      { emit: ['ask', 1], namespace: '/guarded', acknowledge: MATCH },
      { emit: ['poke'], namespace: '/guarded', response: { on: 'poked', ...MATCH } },
      { think: 2 },
    ],
  },
  frames: {
    ...{ engine: 'ws', sends: { wave: 2 } },
    flow: [
      { connect: `${url.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket` },
      ...[{ send: '40' }, { think: 1 }, { send: FRAME }, { send: FRAME }, { think: 1 }],
    ],
  },
  http: { sends: { 'GET /ping': 1 }, flow: [{ get: { url: '/ping' } }] },
});

it('an adopted scenario of another engine sends the same messages, and is measured', async (t) => {
  const counts: Record<string, number> = {};
  const count = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  const onRequest = ({ method, url }: { method?: string; url?: string }, response: { end(): void }) => {
    count(`${method} ${url}`);
    response.end();
  };
  const { url } = await startChat(
    t,
    (io) => {
      io.of('/guarded').use(({ handshake }, next) => next(handshake.auth.token ? undefined : new Error('no token')));
      for (const namespace of ['/', '/guarded']) {
        io.of(namespace).on('connection', (socket) => {
          socket.onAny((event, ...args) => {
            count(event);
            args.at(-1)?.call?.(undefined, { ok: true });
            if (event === 'poke') socket.emit('poked', { ok: true });
          });
        });
      }
    },
    { onRequest },
  );
  const shapes = shapesAt(url);
  const scenarios = Object.entries(shapes).map(([name, { sends: _, ...scenario }]) => ({ name, ...scenario }));
  const phases = [{ duration: 4, arrivalRate: USERS / 4 }];
  const scenario = { config: { target: url, engines: { 'socketio-v3': {} }, phases }, scenarios };
  const before = await runArtillery(scenario);
  assert.equal(before.exitCode, 0, before.output);
  for (const [name, { sends }] of Object.entries(shapes)) {
    const users = before.counters[`vusers.created_by_name.${name}`] ?? 0;
    for (const [event, times] of Object.entries(sends)) assert.equal(counts[event] ?? 0, times * users, event);
  }

  const cwd = tempFolder(t);
  writeFileSync(join(cwd, 'chat.json'), JSON.stringify(scenario));
  const adopt = await cli(cwd, 'adopt', 'chat.json', '--leave');
  assert.equal(adopt.code, 0, adopt.said);
  const doctor = await cli(cwd, 'doctor', 'chat.capacity.json');
  assert.equal(doctor.code, 0, doctor.said);
  const script = JSON.parse(readFileSync(join(cwd, 'chat.capacity.json'), 'utf8'));
  script.config.plugins['socketio-capacity'].warmUp = 0;
  for (const event of Object.keys(counts)) counts[event] = 0;
  const run = startRun(t, { script });
  const { connections, http } = await goodResult(run);
  const { say = 0, ask = 0, poke = 0, wave = 0, enter = 0, 'GET /ping': pings = 0 } = counts;
  assert.deepEqual([connections.opened, connections.failed], [say / 3 + ask + wave / 2, 0], run.output());
  assert.deepEqual([poke, http?.requests, connections.opened + pings], [ask, pings, USERS], run.output());
  assert.ok(enter >= say / 3, 'the run’s own clients enter, too');
});
