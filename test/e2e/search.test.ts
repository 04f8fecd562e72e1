/** `npx socketio-capacity search` with real runs, against a server that refuses each connection beyond a known number. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { execa } from 'execa';
import { searchSchema } from '../../protocol/documents/search.ts';
import { startFullServer } from '../helpers/plain-server.ts';
import { quickScript } from '../helpers/run.ts';

const CLI = join(import.meta.dirname, '../../plugin/hook/cli.js');
const LIMIT = 60;

it('finds the number at which a server begins to refuse connections, and names the refusal', async (t) => {
  const { url } = await startFullServer(t, LIMIT);
  const cwd = mkdtempSync(join(tmpdir(), 'search-'));
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  const phases = [{ duration: 2, arrivalRate: 30, rampTo: 30 }];
  const flow = [{ emit: ['hello', 'server'] }, { hold: true }];
  const script = quickScript({ target: url, phases }, { warmUp: 0, hold: 0 });
  writeFileSync(
    join(cwd, 'full.yml'),
    JSON.stringify({ ...script, scenarios: [{ engine: 'socketio-capacity', flow }] }),
  );
  const levels = ['--from', '63', '--factor', '1.04', '--tolerance', '5', '--repeat', '0'];
  const { exitCode, all } = await execa(
    process.execPath,
    [CLI, 'search', 'full.yml', '--vary', 'connections', ...levels],
    {
      cwd,
      reject: false,
      all: true,
      timeout: 180_000,
      env: { ARTILLERY_DISABLE_TELEMETRY: 'true', NODE_OPTIONS: '', SOCKETIO_CAPACITY_HOME: join(cwd, 'home') },
    },
  );
  assert.equal(exitCode, 0, all);
  const folder = join(cwd, 'results/search-full-connections');
  const { answer, runs } = searchSchema.parse(JSON.parse(readFileSync(join(folder, 'search.json'), 'utf8')));
  assert.deepEqual(
    runs.map(({ level, outcome }) => [level, outcome]),
    [
      [63, 'breaks'],
      [LIMIT, 'holds'],
    ],
    all,
  );
  assert.deepEqual([answer.held, answer.broke], [LIMIT, 63]);
  const sentence =
    'This deployment held 60 connections; at 63, 3 connections failed, because the server answered 3 connections with `namespace_refused` (full).';
  assert.equal(answer.sentence, sentence);
  assert.ok(all.replace(/\s+/g, ' ').includes(sentence), all);
  for (const file of ['search.md', 'search.html', ...runs.map(({ number }) => `logs/${number}.log`)])
    assert.ok(existsSync(join(folder, file)), file);
});
