/** Tests adopted scenarios of other engines and of HTTP in a single run. The server counts the load. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { parse } from 'yaml';
import { cli } from '../helpers/cli.ts';
import { goodResult, startRun } from '../helpers/run.ts';
import { readShapes, startCounting } from '../helpers/shapes.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const USERS = 24;
const SHAPES = ['chat-rooms', 'guarded-namespace', 'frames', 'pages-beside'];

it('a run measures adopted scenarios of several engines', async (t) => {
  const shapes = readShapes().filter(({ name }) => SHAPES.includes(name));
  const replies = Object.assign({}, ...shapes.map((shape) => shape.replies));
  const [first, ...others] = shapes.map(({ text }) => parse(text));
  const scenarios = [first, ...others].flatMap((shape) => shape.scenarios);
  const phases = [{ duration: 4, arrivalRate: USERS / 4 }];
  const written = JSON.stringify({ config: { ...first.config, phases }, scenarios });
  const server = await startCounting(t, written, replies);
  const cwd = tempFolder(t);
  writeFileSync(join(cwd, 'chat.json'), server.text);
  const adopt = await cli(cwd, 'adopt', 'chat.json', '--leave');
  assert.equal(adopt.code, 0, adopt.said);
  const doctor = await cli(cwd, 'doctor', 'chat.capacity.json');
  assert.equal(doctor.code, 0, doctor.said);
  const script = JSON.parse(readFileSync(join(cwd, 'chat.capacity.json'), 'utf8'));
  script.config.plugins['socketio-capacity'].warmUp = 0;
  await server.counted();
  const run = startRun(t, { script });
  const { connections, http } = await goodResult(run);
  const { say = 0, ask = 0, poke = 0, wave = 0, look = 0, enter = 0, 'GET /ping': pings = 0 } = await server.counted();
  assert.deepEqual([connections.opened, connections.failed], [say / 3 + ask + wave / 2 + look, 0], run.output());
  assert.deepEqual([poke, http?.requests, connections.opened + pings], [ask, pings, USERS], run.output());
  assert.ok(enter >= say / 3, 'the run’s own clients enter, too');
});
