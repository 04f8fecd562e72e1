/** Memory over time: waves of connections to a server that leaks, and to one that does not, at the same time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { goodInProcess } from '../helpers/in-process-run.ts';
import { startLeakyServer } from '../helpers/leaky-server.ts';
import { quickScript } from '../helpers/run.ts';

const LEAK_BYTES = 20_000;
const WAVES = 5;
const CONNECTIONS = 60;
/** Of the worker's heap, which also keeps what V8 has compiled meanwhile: 60 KB in a wave. */
const HEAP_NOISE_BYTES = 1000;
const WAVE = [{ duration: 1, arrivalRate: CONNECTIONS, rampTo: CONNECTIONS }, { pause: 7 }];

describe('waves', { concurrency: true }, () => {
  for (const leakBytes of [LEAK_BYTES, 0]) {
    it(leakBytes > 0 ? 'find a leak at its size' : 'find no leak where there is none', async (t) => {
      const { url, control } = await startLeakyServer(t, leakBytes);
      const options = { control, overTime: {}, warmUp: 200, hold: undefined, broadcasts: undefined };
      const { config } = quickScript({ target: url, phases: Array(WAVES).fill(WAVE).flat() }, options);
      const flow = [{ emit: ['join_room', { clientKey: 'capacity' }] }, { think: 2.5 }];
      const { result, output, page } = await goodInProcess({
        config,
        scenarios: [{ engine: 'socketio-capacity', flow }],
      });
      const { memory, connections } = result;
      assert.deepEqual(
        [connections.opened, connections.peak, connections.lost],
        [WAVES * CONNECTIONS, CONNECTIONS, {}],
      );
      const { peaks, readings, drift } = memory.overTime ?? {};
      assert.deepEqual(
        peaks?.map((peak) => peak.connections),
        Array(WAVES).fill(CONNECTIONS),
      );
      assert.deepEqual(
        readings?.map(({ connections, gone }) => [connections, gone]),
        Array.from({ length: WAVES }, (_, index) => [0, (index + 1) * CONNECTIONS]),
      );
      const { low95, high95, leaks, bytesPerConnection } = drift?.workerHeapUsed ?? {};
      assert.equal(leaks, leakBytes > 0, JSON.stringify(drift));
      assert.ok(
        (low95 ?? 0) <= leakBytes + HEAP_NOISE_BYTES && (high95 ?? 0) >= leakBytes,
        JSON.stringify(drift?.workerHeapUsed),
      );
      assert.ok(Math.abs((bytesPerConnection ?? 0) - leakBytes) < 2000);
      for (const text of [output, page]) assert.match(text, leakBytes > 0 ? /leaks? \S+ KB/ : /no leak above/);
    });
  }
});
