/** A scenario of another engine makes the same load after `adopt`. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { runArtillery } from '../helpers/artillery.ts';
import { startChat } from '../helpers/chat-server.ts';
import { cli } from '../helpers/cli.ts';
import { goodResult, startRun } from '../helpers/run.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const USERS = 12;

it('sends what artillery-engine-socketio-v3 sent, and measures it', async (t) => {
  const counts: Record<string, number> = {};
  const { url } = await startChat(t, (server) => {
    server.on('connection', (socket) => {
      socket.on('enter', (room, done) => {
        void socket.join(room);
        done({ ok: true, room });
      });
      socket.onAny((event) => {
        counts[event] = (counts[event] ?? 0) + 1;
      });
    });
  });
  const scenario = {
    config: { target: url, engines: { 'socketio-v3': {} }, phases: [{ duration: 4, arrivalRate: USERS / 4 }] },
    scenarios: [
      {
        engine: 'socketio-v3',
        flow: [
          { emit: ['enter', 'hall'], acknowledge: { match: { json: '$.ok', value: true } } },
          { loop: [{ emit: { channel: 'say', data: { text: '{{ $randomString(8) }}' } } }, { think: 1 }], count: 3 },
        ],
      },
    ],
  };
  const before = await runArtillery(scenario);
  assert.equal(before.exitCode, 0, before.output);
  assert.deepEqual({ ...counts }, { enter: USERS, say: 3 * USERS });

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
  const { connections } = await goodResult(run);
  assert.deepEqual([connections.opened, connections.failed], [USERS, 0], run.output());
  assert.equal(counts.say, 3 * USERS);
  assert.ok((counts.enter ?? 0) >= USERS, 'the run’s own clients enter, too');
});
