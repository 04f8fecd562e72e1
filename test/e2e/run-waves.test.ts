/** Memory over time: waves of connections to servers that leak in known ways, and to ones that do not, at the same time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FindingCode } from '../../protocol/codes/finding-codes.ts';
import { goodInProcess } from '../helpers/in-process-run.ts';
import { type Leak, startLeakyServer } from '../helpers/plain-server.ts';
import { quickScript } from '../helpers/run.ts';

const SIZES = [80, 20, 20, 80, 80, 20];
/** Small waves come after long rests. */
const PHASES = SIZES.flatMap((size, index) => [
  { duration: 1, arrivalRate: size, rampTo: size },
  { pause: (SIZES[index + 1] ?? size) < 50 ? 10 : 5 },
]);
/** Of the worker's heap, which also keeps what V8 has compiled meanwhile. */
const HEAP_NOISE_BYTES = 1000;
const HEAP_NOISE_PER_SECOND = 10_000;

/** What its server leaves; the machine's own memory moves with all that runs on it. */
const LEAKS: FindingCode[] = ['STILL_COUNTED', 'WORKERS_LEAK', 'MACHINE_LEAK'];

const CASES: Record<string, { leak: Leak; says: RegExp; finds?: FindingCode }> = {
  'a leak of each connection': {
    leak: { perConnectionBytes: 6000 },
    says: /leaks? \S+ KB per connection/,
    finds: 'WORKERS_LEAK',
  },
  'a leak in time': { leak: { perSecondBytes: 100_000 }, says: /leaks?[\s\S]{0,80}KB\/s/, finds: 'WORKERS_LEAK' },
  'no leak': { leak: {}, says: /no leak above/ },
  'namespaces that stay': {
    leak: { leavesNamespaces: true },
    finds: 'STILL_COUNTED',
    says: /namespaces/,
  },
  'no leak in a cache that fills and stops': {
    leak: { perConnectionBytes: 40_000, mostKept: 150 },
    says: /no leak above/,
  },
};

describe('waves of different sizes and rests find', { concurrency: true }, () => {
  for (const [name, { leak, says, finds }] of Object.entries(CASES)) {
    it(name, async (t) => {
      const { url, control } = await startLeakyServer(t, leak);
      const options = { control, overTime: {}, warmUp: 200, hold: undefined, broadcasts: undefined };
      const { config } = quickScript({ target: url, phases: PHASES }, options);
      const flow = [{ emit: ['join_room', { clientKey: 'capacity' }] }, { think: 2.5 }];
      const script = { config, scenarios: [{ engine: 'socketio-capacity', flow }] };
      const { result, output, page } = await goodInProcess(script, LEAKS);
      if (finds)
        assert.ok(
          result.findings.some(({ code }) => code === finds),
          output,
        );
      const { memory, connections } = result;
      const total = SIZES.reduce((sum, size) => sum + size, 0);
      assert.deepEqual([connections.opened, connections.lost], [total, {}]);
      const { peaks, readings, drift } = memory.overTime ?? {};
      // On a slow machine, the first have left when the last come.
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
      // Rests that a slow machine makes equal do not tell connections from time: the rise is then one figure, of both.
      const isTold = !heap?.leaks || heap.perSecond !== null;
      const [first, last] = [readings?.[0], readings?.at(-1)];
      const perSecondAsConnections =
        (perSecond * ((last?.t ?? 0) - (first?.t ?? 0))) / ((last?.gone ?? 0) - (first?.gone ?? 0));
      isAround(heap?.low95, heap?.high95, perConnection + (isTold ? 0 : perSecondAsConnections), HEAP_NOISE_BYTES);
      if (heap?.perSecond) isAround(heap.perSecond.low95, heap.perSecond.high95, perSecond, HEAP_NOISE_PER_SECOND);
      // On a busy machine, pages of a new server can grow for some other reason than its heap: no leak, whatever they do.
      for (const text of [output, page]) assert.match(text, result.verdict.status === 'VALID' ? says : /leak|grows by/);
      if (!heap?.leaks) assert.doesNotMatch(output, /leaks \d/);
    });
  }
});
