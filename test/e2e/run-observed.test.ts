/** A deployment elsewhere, with an observer beside its nginx: the layer has memory and CPU, with their source. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ObservedProcesses } from '../../plugin/observer/observed-processes.ts';
import { openObserver } from '../../plugin/observer/observer.ts';
import { startApp, TOKEN } from '../helpers/app.ts';
import { lacks, startNginx, UPGRADE } from '../helpers/proxies.ts';
import { quickScript, reasonsOfServer, startRun } from '../helpers/run.ts';

test('nginx on another host', { skip: lacks('nginx') }, async (t) => {
  const app = await startApp({ CAPACITY_WORKER: 'w0' });
  t.after(() => app.close());
  const nginx = await startNginx(t, app.port, UPGRADE);
  const options = { token: TOKEN, port: 0, host: '127.0.0.1', tls: undefined };
  const observer = await openObserver(new ObservedProcesses('nginx', nginx.pid), options);
  t.after(() => observer.close());
  const run = startRun(t, {
    script: quickScript(
      { target: `http://127.0.0.1:${nginx.port}` },
      { control: { urls: [app.controlUrl], token: TOKEN } },
    ),
    env: { CAPACITY_OBSERVERS: `nginx=http://127.0.0.1:${observer.port}` },
  });
  await run.ended;
  const result = run.result();
  assert.ok(result, run.output());
  assert.deepEqual(reasonsOfServer(result), [], run.output());
  const { memory, cpu } = result;
  assert.equal(memory.sources.nginxPss, 'its observer');
  assert.ok(memory.perConnectionBytes.nginxPss, JSON.stringify(memory.plateaus));
  assert.ok(memory.plateaus.every(({ nginxHostUsed }) => (nginxHostUsed ?? 0) > 0));
  assert.ok(cpu.nginx);
  assert.ok(
    result.samples.some(({ nginx: sample }) => ((sample as { rssBytes?: number } | undefined)?.rssBytes ?? 0) > 0),
  );
});
