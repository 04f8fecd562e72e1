import assert from 'node:assert/strict';
import { test } from 'node:test';
import { workerFigures } from '../../../plugin/result/workers.ts';
import { ResourceWindows } from '../../../plugin/run/windows/resources.ts';
import { ControlClients } from '../../../plugin/samplers/control/workers.ts';
import { TOKEN } from '../../helpers/app.ts';
import { column } from '../../helpers/columns.ts';
import { cpuGroup, whyNoCpuGroup } from '../../helpers/cpu-group.ts';
import { measurements } from '../../helpers/measurements.ts';
import { startProcess, WORKER } from '../../helpers/process.ts';
import { freePort } from '../../helpers/redis.ts';

test('a worker in a container with little CPU tells its quota, and how often it was used up', {
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
