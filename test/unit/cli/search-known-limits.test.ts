/** Searches over the rate and over the size of broadcasts, of a deployment whose limit is known. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { readTask, type SearchOptions } from '../../../plugin/cli/search/plan.ts';
import { searchSeries } from '../../../plugin/cli/search/series.ts';
import type { Diagnosis } from '../../../plugin/doctor/diagnosis.ts';
import { runSeries } from '../../../plugin/series/series.ts';
import { fakeArtillery } from '../../helpers/fake-artillery.ts';
import { quickScript } from '../../helpers/run.ts';

/** @param broken JavaScript: whether what the overrides ask for is more than the deployment can do */
async function searched(t: TestContext, vary: SearchOptions['vary'], broken: string) {
  const { folder, artillery, write } = fakeArtillery(
    t,
    `const { phases, plugins } = overrides.config;
    const fails = ${broken};
    leave((result) => {
      const target = result.connections.target;
      const failed = fails ? 3 : 0;
      Object.assign(result.connections, { held: target - failed, failed, failures: fails ? { http_503: 3 } : {} });
      const reasons = fails ? [{ code: 'CONNECTIONS_FAILED', message: '3 failed' }] : [];
      result.verdict = { status: fails ? 'SUSPECT' : 'VALID', reasons };
    });
    process.exit(fails ? 3 : 0);`,
  );
  write('tiny.yml', quickScript({ phases: [{ duration: 100, arrivalRate: 10, rampTo: 10 }] }));
  const task = await readTask(join(folder, 'tiny.yml'), { vary, rest: '0' });
  const fits = async () => ({ fits: true, highest: null, limits: [] }) as unknown as Diagnosis;
  const { signal } = new AbortController();
  const { document } = await runSeries(searchSeries(task, folder, fits), { artillery, signal, say: () => {} });
  return document.answer;
}

for (const [vary, limit, broken] of [
  ['bytes', 40_000, `plugins['socketio-capacity'].broadcasts.bytes > 40000`],
  ['rate', 33, 'Math.max(...phases.map(({ rampTo = 0, arrivalRate = 0 }) => Math.max(rampTo, arrivalRate))) > 33'],
] as const) {
  it(`finds a limit of ${limit} by --vary ${vary}`, async (t) => {
    const { end, held, broke, sentence } = await searched(t, vary, broken);
    assert.equal(end, 'found', sentence);
    assert.ok(held !== null && broke !== null && held <= limit && broke > limit, `${held}, ${broke}: ${sentence}`);
    assert.ok(broke - held <= Math.max(0.05 * held, 2), `${held}, ${broke}`);
    assert.match(sentence, /`http_503`/);
  });
}
