/** A server of one's own behind one's own nginx: the layer has memory and CPU. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApp, TOKEN } from '../helpers/app.ts';
import { goodInProcess } from '../helpers/in-process-run.ts';
import { lacks, startNginx, UPGRADE } from '../helpers/proxies.ts';
import { quickScript } from '../helpers/run.ts';

test('nginx that the run has not started', { skip: lacks('nginx') }, async (t) => {
  const app = await startApp({ CAPACITY_WORKER: 'w0' });
  t.after(() => app.close());
  const nginx = await startNginx(t, app.port, UPGRADE);
  const control = { urls: [app.controlUrl], token: TOKEN };
  const { result } = await goodInProcess(
    quickScript({ target: `http://127.0.0.1:${nginx.port}` }, { control, layers: { nginx: { pids: [nginx.pid] } } }),
  );
  const { memory, cpu, samples } = result;
  assert.equal(memory.sources.nginxPss, '/proc of its processes');
  assert.ok(memory.perConnectionBytes.nginxPss, JSON.stringify(memory.plateaus));
  assert.ok(cpu.nginx);
  assert.ok(samples.some(({ nginx: sample }) => ((sample as { rssBytes?: number } | undefined)?.rssBytes ?? 0) > 0));
});
