/** The files that a run leaves beside its result, and its live view during the run. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { REPORT_FILES } from '../../plugin/result/report-files.ts';
import { startApp, TOKEN } from '../helpers/app.ts';
import { eventually } from '../helpers/poll.ts';
import { goodResult, quickScript, startRun } from '../helpers/run.ts';

const app = await startApp();
after(() => app.close());

it('a run shows itself live, and leaves all report files with its thresholds in them', async (t) => {
  const control = { urls: [app.controlUrl], token: TOKEN };
  const script = quickScript(
    {
      target: app.url,
      ensure: {
        thresholds: [{ 'connections.failed': 1 }],
        conditions: [{ expression: 'connections.peak > 100', strict: false }],
      },
    },
    { control, live: true },
  );
  Object.assign(script.config.plugins, { ensure: {} });
  const run = startRun(t, { script });
  const live = await eventually('the live view', () => /Live view: (http:\S+)/.exec(run.output())?.[1], 60_000);
  const connected = /^socketio_capacity_connections\{[^}]*\} (\d+)$/m;
  await eventually(
    '10 connections in the metrics',
    async () => {
      const text = await fetch(`${live}metrics`).then((response) => response.text());
      return connected.exec(text)?.[1] === '10';
    },
    60_000,
  );
  await goodResult(run);

  const folder = join(run.directory, 'results/latest');
  const reports = REPORT_FILES.map(([name]) => name);
  assert.deepEqual(readdirSync(folder).sort(), [...reports, 'artillery.log', 'record.ndjson', 'result.json'].sort());
  const [, named = ''] = run.output().split('Result: ');
  for (const name of reports) assert.ok(named.includes(name), name);
  assert.deepEqual(run.result()?.thresholds, [
    {
      ...{ expression: 'connections.failed < 1', met: true, strict: true },
      found: [{ metric: 'connections.failed', value: 0, unit: 'virtual users' }],
    },
    {
      ...{ expression: 'connections.peak > 100', met: false, strict: false },
      found: [{ metric: 'connections.peak', value: 10, unit: 'connections' }],
    },
  ]);
  const junit = readFileSync(join(folder, 'junit.xml'), 'utf8');
  // The verdict is one of them, and a busy machine makes a run suspect.
  const failures = run.result()?.verdict.status === 'VALID' ? 0 : 1;
  assert.match(junit, new RegExp(`tests="6" failures="${failures}" errors="0" skipped="1"`));
  const samples = readFileSync(join(folder, 'samples.csv'), 'utf8').trim().split('\n');
  assert.equal(samples.length, 1 + (run.result()?.samples.length ?? 0));
});

it('a run whose live port is taken is refused before any load', async (t) => {
  const control = { urls: [app.controlUrl], token: TOKEN };
  const port = Number(new URL(app.url).port);
  const run = startRun(t, { script: quickScript({ target: app.url }, { control, live: { port } }) });
  assert.equal(await run.ended, 2, run.output());
  assert.match(run.output(), /PORT_UNAVAILABLE/);
  assert.deepEqual(readdirSync(run.directory), ['quick.yml']);
});
