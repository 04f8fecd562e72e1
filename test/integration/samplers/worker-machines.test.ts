/** What exporters tell of the machines of the workers. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { hostname } from 'node:os';
import { it } from 'node:test';
import { workerFigures } from '../../../plugin/result/workers.ts';
import { ResourceWindows } from '../../../plugin/run/windows/resources.ts';
import { PrometheusTargets } from '../../../plugin/samplers/index.ts';
import { takenByOthers } from '../../../report/figures/others.ts';
import { assertEach } from '../../helpers/columns.ts';
import { measurements } from '../../helpers/measurements.ts';
import { urlOf } from '../../helpers/raw-listen.ts';
import { perfectResult } from '../../helpers/results.ts';

it('node_exporter tells what a hypervisor took of a worker machine, and how full that was', async (t) => {
  const seconds = { idle: 100, iowait: 10, user: 40, steal: 5 };
  let [availableBytes, nodename] = [6e9, 'chat-1'];
  const page = () =>
    [
      ...Object.entries(seconds).flatMap(([mode, value]) =>
        [0, 1].map((cpu) => `node_cpu_seconds_total{cpu="${cpu}",mode="${mode}"} ${value}`),
      ),
      `node_memory_MemTotal_bytes 8e9\nnode_memory_MemAvailable_bytes ${availableBytes}`,
      `node_uname_info{nodename="${nodename}"} 1`,
    ].join('\n');
  const server = createServer((_request, response) => response.end(page()));
  const pages = await PrometheusTargets.open([{ url: `${await urlOf(t, server)}/metrics`, labels: {} }]);
  const measured = measurements();
  const windows = new ResourceWindows(async () => [], { exported: () => pages.machines() });
  await windows.begin();
  Object.assign(seconds, { idle: 160, iowait: 15, user: 60, steal: 20 });
  availableBytes = 2e9;
  await windows.end('ramp', measured);
  availableBytes = 5e9;
  await windows.end('broadcasts', measured);
  const { workers, workerMachines } = workerFigures(measured);
  assert.deepEqual(workers, []);
  assertEach(
    workerMachines,
    (one) => [one.hostname, one.cores, one.usedBytes, one.stealPercent.ramp, one.cpuIdlePercent.ramp],
    [['chat-1', 2, 6e9, 15, 65]],
  );
  const result = { ...perfectResult(), workerMachines };
  assert.match(
    takenByOthers(result)?.text ?? '',
    /hypervisor took 15 % of the CPU of worker machine chat-1 during the ramp/,
  );

  nodename = 'x'.repeat(10_000);
  assert.equal((await pages.machines())[0]?.hostname.length, 253, 'no name is longer');
  nodename = hostname();
  assert.deepEqual(await pages.machines(), [], 'the run reads its own machine itself');
});
