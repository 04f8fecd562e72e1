/**
 * Measures a known server like a run: ramps and plateaus, hold, broadcasts, and memory afterwards. It uses the
 * product's readings and windows, but not Artillery.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { isFirstOfPart } from '../../plugin/run/broadcasts/window.ts';
import { readMemoryAtRest } from '../../plugin/run/memory/readings.ts';
import { pollUntil } from '../../plugin/run/wait.ts';
import { ConsecutiveWindows } from '../../plugin/run/windows/cpu-window.ts';
import { measureIdleCpu, measureUnloadedCpu } from '../../plugin/run/windows/idle-windows.ts';
import { beginRampWindow } from '../../plugin/run/windows/ramp-window.ts';
import { knownValues } from '../../plugin/samplers/index.ts';
import {
  type CalibrationSetup,
  createSetupSampler,
  emptyMeasurements,
  joinClients,
  neverAborted,
  publishAndFinalize,
  warmUpConnections,
} from './calibration-setup.ts';

interface ShortRunSize {
  /** Number of connections. They are opened in equal ramps between the plateaus. */
  connections: number;
  plateaus: number;
  warmUps: number;
  holdSeconds: number;
  broadcasts: { count: number; intervalMs: number };
  /** Time from the last receipt to the end of the window of broadcasts. */
  drainMs: number;
}

const COUNT_TIMEOUT_MS = 10_000;

/** Runs the measurement. The connections stay open. */
export async function shortRun(setup: CalibrationSetup, size: ShortRunSize) {
  const { control, fleet } = setup;
  await warmUpConnections(setup, size.warmUps);
  const measurements = emptyMeasurements();
  const sampler = createSetupSampler(setup);
  const population = { connections: () => fleet.status().connected, made: () => fleet.status() };
  const idle = { sampler, population, control, config: { hold: size.holdSeconds }, measurements, signal: neverAborted };
  const stage = (name: string) => measurements.stages.push({ name, t: sampler.seconds() });
  const plateau = async () => {
    const inService = knownValues(await sampler.reading());
    measurements.plateaus.push({
      connections: population.connections(),
      inService,
      layers: (await readMemoryAtRest(control, sampler)).layers,
    });
  };
  sampler.start();
  try {
    stage('baseline');
    await plateau();
    await measureUnloadedCpu(idle);
    let joined = 0;
    for (let step = 1; step < size.plateaus; step++) {
      stage('ramp');
      const ramp = await beginRampWindow({ sampler, population, signal: neverAborted }, 0);
      const more = Math.round(size.connections / (size.plateaus - 1));
      await joinClients(fleet, more);
      joined += more;
      // Waits for the generator's count, which is updated shortly after the joins.
      await pollUntil(() => population.connections() === joined, COUNT_TIMEOUT_MS, neverAborted);
      measurements.cpu.ramps.push(await ramp.end());
      stage('plateau');
      await plateau();
    }
    measurements.peakConnections = population.connections();
    stage('hold');
    await measureIdleCpu(idle);
    stage('broadcasts');
    const { received } = fleet.status();
    const windows = new ConsecutiveWindows({ sampler, population }, () => fleet.status().received - received);
    const receipts = size.broadcasts.count * population.connections();
    const beforeSend = (index: number) => {
      if (isFirstOfPart(index, size.broadcasts.count)) void windows.next();
    };
    const { sent, frozen } = await publishAndFinalize(setup, { ...size.broadcasts, receipts, beforeSend });
    stage('drain');
    await delay(size.drainMs);
    measurements.cpu.broadcasts = await windows.end();
    measurements.inServiceAfterBroadcasts = knownValues(await sampler.reading());
    measurements.afterBroadcasts = (await readMemoryAtRest(control, sampler)).layers;
    stage('end of the run');
    return { measurements: { ...measurements, sent, frozen }, sampled: sampler };
  } finally {
    await sampler.close();
  }
}
