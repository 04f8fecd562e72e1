/**
 * Tests memory over time with waves of connections. Several servers with and without known leaks are tested at once.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FindingCode } from '../../protocol/codes/finding-codes.ts';
import { goodInProcess } from '../helpers/in-process-run.ts';
import { type Leak, startLeakyServer } from '../helpers/plain-server.ts';
import { quickScript } from '../helpers/run.ts';

const SIZES = [80, 20, 20, 80, 80, 20];
/** Phases with small waves after long rests, and large waves after short rests. */
const PHASES = SIZES.flatMap((size, index) => [
  { duration: 1, arrivalRate: size, rampTo: size },
  { pause: (SIZES[index + 1] ?? size) < 50 ? 10 : 5 },
]);
/** Noise of the worker's heap, which also grows by newly compiled code. */
const HEAP_NOISE_BYTES = 1000;
const HEAP_NOISE_PER_SECOND = 10_000;

/** Findings that the leaking server causes. The machine's own memory changes with every program on it. */
const LEAKS: FindingCode[] = ['STILL_COUNTED', 'WORKERS_LEAK', 'MACHINE_LEAK'];

const CASES: Record<string, { leak: Leak; message: RegExp; code?: FindingCode }> = {
  'a leak per connection': {
    leak: { perConnectionBytes: 6000 },
    message: /leaks? \S+ KB per connection/,
    code: 'WORKERS_LEAK',
  },
  'a leak per second': { leak: { perSecondBytes: 100_000 }, message: /leaks?[\s\S]{0,80}KB\/s/, code: 'WORKERS_LEAK' },
  'no leak': { leak: {}, message: /no leak above/ },
  'namespaces that stay after their connections': {
    leak: { leavesNamespaces: true },
    code: 'STILL_COUNTED',
    message: /namespaces/,
  },
  'no leak for a cache that stops growing when it is full': {
    leak: { perConnectionBytes: 40_000, mostKept: 150 },
    message: /no leak above/,
  },
};

describe('memory over time in waves', { concurrency: true }, () => {
  for (const [name, { leak, message, code }] of Object.entries(CASES)) {
    it(`a run with waves of connections of different sizes and pauses reports ${name}`, async (t) => {
      const { url, control } = await startLeakyServer(t, leak);
      const options = { control, overTime: {}, warmUp: 200, hold: undefined, broadcasts: undefined };
      const { config } = quickScript({ target: url, phases: PHASES }, options);
      const flow = [{ emit: ['join_room', { clientKey: 'capacity' }] }, { think: 2.5 }];
      const script = { config, scenarios: [{ engine: 'socketio-capacity', flow }] };
      const { result, output, page } = await goodInProcess(script, LEAKS);
      if (code)
        assert.ok(
          result.findings.some((found) => found.code === code),
          output,
        );
      const { memory, connections } = result;
      const total = SIZES.reduce((sum, size) => sum + size, 0);
      assert.deepEqual([connections.opened, connections.lost], [total, {}]);
      const { peaks, readings, drift } = memory.overTime ?? {};
      // On a slow machine, the first clients have already disconnected when the last ones connect.
      const found = peaks?.map((peak) => peak.connections) ?? [];
      assert.equal(found.length, SIZES.length);
      assert.ok(
        found.every((peak, index) => peak > 0 && peak <= (SIZES[index] ?? 0)),
        found.join(),
      );
      assert.deepEqual(
        readings?.map(({ connections, gone }) => [connections, gone]),
        SIZES.map((_, index) => [0, SIZES.slice(0, index + 1).reduce((sum, size) => sum + size, 0)]),
      );
      const heap = drift?.workerHeapUsed;
      const figures = JSON.stringify(heap);
      const perConnection = leak.mostKept === undefined ? (leak.perConnectionBytes ?? 0) : 0;
      const perSecond = leak.perSecondBytes ?? 0;
      const { leavesNamespaces = false } = leak;
      const kept = memory.overTime?.counts.filter(({ isKept }) => isKept).map(({ id }) => id);
      assert.deepEqual(kept, leavesNamespaces ? ['workerNamespaces'] : []);
      if (leavesNamespaces) return;
      assert.equal(heap?.leaks, perConnection + perSecond > 0, figures);
      const isAround = (
        low: number | null | undefined,
        high: number | null | undefined,
        truth: number,
        noise: number,
      ) =>
        assert.ok((low ?? Infinity) - noise <= truth && truth <= (high ?? -Infinity) + noise, `${truth}: ${figures}`);
      // If a slow machine makes all rests equal, growth per connection and growth over time cannot be separated. There
      // is then one figure for both.
      const isSeparated = !heap?.leaks || heap.perSecond !== null;
      const [first, last] = [readings?.[0], readings?.at(-1)];
      const perSecondAsConnections =
        (perSecond * ((last?.t ?? 0) - (first?.t ?? 0))) / ((last?.gone ?? 0) - (first?.gone ?? 0));
      isAround(heap?.low95, heap?.high95, perConnection + (isSeparated ? 0 : perSecondAsConnections), HEAP_NOISE_BYTES);
      if (heap?.perSecond) isAround(heap.perSecond.low95, heap.perSecond.high95, perSecond, HEAP_NOISE_PER_SECOND);
      // On a busy machine, RSS of a new server can grow without a leak.
      for (const text of [output, page])
        assert.match(text, result.verdict.status === 'VALID' ? message : /leak|grows by/);
      if (!heap?.leaks) assert.doesNotMatch(output, /leaks \d/);
    });
  }
});
