/** Tests quotas and machines of workers. The windows of a run record them from workers and exporters. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { hostname } from 'node:os';
import { it, test } from 'node:test';
import { workerFigures } from '../../../plugin/result/assemble-workers.ts';
import { ResourceWindows } from '../../../plugin/run/windows/resource-windows.ts';
import { ControlClients } from '../../../plugin/samplers/control/control-workers.ts';
import { PageTargets } from '../../../plugin/samplers/index.ts';
import { cpuContention } from '../../../report/figures/contention.ts';
import { TOKEN } from '../../helpers/app.ts';
import { assertEach, column } from '../../helpers/columns.ts';
import { cpuGroup, whyNoCpuGroup } from '../../helpers/cpu-group.ts';
import { measurements } from '../../helpers/measurements.ts';
import { startProcess, WORKER } from '../../helpers/process.ts';
import { urlOf } from '../../helpers/raw-listen.ts';
import { freePort } from '../../helpers/redis.ts';
import { perfectResult } from '../../helpers/results.ts';

test('a worker in a container with little CPU reports its quota, and how often the quota was used up', {
  skip: whyNoCpuGroup(),
}, async (t) => {
  const group = cpuGroup(t, 1.5);
  const controlPort = await freePort();
  const env = { PATH: process.env.PATH, CAPACITY_TOKEN: TOKEN, CAPACITY_CONTROL_PORT: `${controlPort}` };
  const command = `${group.enter} && exec "${process.execPath}" "${WORKER}"`;
  await startProcess(t, 'sh', ['-c', command], { env }).said(/worker is up/);
  const control = await ControlClients.connect([`http://127.0.0.1:${controlPort}`], TOKEN);
  t.after(() => control.close());

  group.allow(0.1);
  const windows = new ResourceWindows(() => control.resources());
  const measured = measurements();
  await windows.begin();
  for (let collection = 0; collection < 5; collection++) await control.gc();
  await windows.end('ramp', measured);

  const { workers, workerMachines } = workerFigures(measured);
  const [{ throttled, usableCores } = { throttled: null, usableCores: 0 }] = workers;
  assert.equal(usableCores, 0.1);
  assert.equal(throttled?.ramp?.cores, 0.1);
  const { periods = 0, throttledPeriods = 0, throttledMs = 0 } = throttled?.ramp ?? {};
  assert.ok(throttledPeriods > 0 && throttledPeriods <= periods, `${throttledPeriods} of ${periods}`);
  assert.ok(throttledMs > 0);
  assert.deepEqual(column(workerMachines, 'isGenerators'), [true]);
});

it('the run reads steal time and memory of a worker’s machine from node_exporter', async (t) => {
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
  const pages = await PageTargets.open([{ url: `${await urlOf(t, server)}/metrics`, labels: {} }]);
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
    (machine) => [
      machine.hostname,
      machine.cores,
      machine.usedBytes,
      machine.stealPercent.ramp,
      machine.cpuIdlePercent.ramp,
    ],
    [['chat-1', 2, 6e9, 15, 65]],
  );
  const result = { ...perfectResult(), workerMachines };
  assert.match(
    cpuContention(result)?.text ?? '',
    /hypervisor took 15 % of the CPU of worker machine chat-1 during the ramp/,
  );

  nodename = 'x'.repeat(10_000);
  assert.equal((await pages.machines())[0]?.hostname.length, 253, 'host names are at most this long');
  nodename = hostname();
  assert.deepEqual(await pages.machines(), [], 'the run reads its own machine itself');
});
