/** Tests the runs of a search. The stub of Artillery breaks at a known number of connections, rate or size. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { type SearchOptions, searchSeries } from '../../../plugin/cli/search/runs.ts';
import type { Diagnosis } from '../../../plugin/doctor/diagnosis.ts';
import type { Phase } from '../../../plugin/script/load/phases.ts';
import { runSeries } from '../../../plugin/series/series.ts';
import { searchSchema } from '../../../protocol/documents/search-schema.ts';
import { columns } from '../../helpers/columns.ts';
import { fakeArtillery } from '../../helpers/fake-artillery.ts';
import { finding } from '../../helpers/findings.ts';
import { quickScript } from '../../helpers/run.ts';

const LATE = finding('GENERATOR_LATE', 'it was late', { explains: ['CONNECTIONS_FAILED'] });
const BREAKS = `
const { limit, vary, lagsAbove = Infinity, refusedAbove = Infinity } = read('behaviour.json');
const { phases = [], plugins } = overrides.config;
const ramps = phases.filter(({ pause }) => pause === undefined);
const arrivals = ({ duration, arrivalRate, rampTo }) =>
  Array.from({ length: duration }, (_, second) => Math.round(arrivalRate + ((rampTo - arrivalRate) / (duration - 1)) * second));
const level = {
  connections: () => ramps.flatMap(arrivals).reduce((sum, one) => sum + one, 0),
  rate: () => Math.max(...ramps.map(({ rampTo = 0, arrivalRate = 0 }) => Math.max(rampTo, arrivalRate))),
  bytes: () => plugins['socketio-capacity'].broadcasts.bytes,
}[vary]();
if (level > refusedAbove) {
  refuse({ code: 'PORT_UNAVAILABLE', message: 'by another', fix: 'end it' });
}
const failed = vary === 'connections' ? Math.max(0, level - limit) : level > limit ? 3 : 0;
const findings = [
  ...(level > lagsAbove ? [${JSON.stringify(LATE)}] : []),
  ...(failed ? [{ ...${JSON.stringify(finding('CONNECTIONS_FAILED'))}, message: failed + ' failed: http_503' }] : []),
];
// The generator can be the cause.
if (level > lagsAbove) for (const one of findings) one.fails = null;
leave((result) => {
  const target = vary === 'connections' ? level : result.connections.target;
  const failures = failed ? { http_503: failed } : {};
  Object.assign(result.connections, { target, held: target - failed, failed, failures });
  Object.assign(result, { findings, verdict: { status: level > lagsAbove ? 'SUSPECT' : 'VALID' } });
});
process.exit(level > lagsAbove ? 3 : failed ? 1 : 0);
`;

interface Behaviour {
  limit: number;
  lagsAbove?: number;
  refusedAbove?: number;
}

function begin(t: TestContext, phases?: Phase[]) {
  const { folder, artillery, write } = fakeArtillery(t, BREAKS);
  write('tiny.yml', quickScript(phases && { phases }));
  /** @param highest maximum number of connections that the machine allows */
  const run = async (behaviour: Behaviour, given: Partial<SearchOptions> = {}, highest: number | null = null) => {
    const options: SearchOptions = { vary: 'connections', rest: '0', ...given };
    write('behaviour.json', { ...behaviour, vary: options.vary });
    const limits = [{ name: 'generatorFiles', max: highest, raise: 'ulimit -n 65536' }];
    const series = await searchSeries(join(folder, 'tiny.yml'), options, folder, async ({ load }) => {
      const fits = highest === null || load.connectionsAtOnce <= highest;
      return { fits, highest, limits } as Diagnosis;
    });
    let earlier = 0;
    const next: typeof series.next = (runs, before) => {
      earlier = before;
      return series.next(runs, before);
    };
    const { signal } = new AbortController();
    const { document } = await runSeries({ ...series, next }, { artillery, signal, print: () => {} });
    const read = (name: string) => readFileSync(join(series.folder, name), 'utf8');
    return { search: document, answer: document.answer, made: document.runs.slice(earlier), read };
  };
  return { write, run };
}

it('every document of a search has the answer in one sentence, the evidence and the machine sizes', async (t) => {
  const { run } = begin(t);
  const { search, answer, made, read } = await run({ limit: 61 }, { times: '2', rest: '0.2' });
  const { end, held, broke, heldRuns, sentence } = answer;
  assert.equal(end, 'found');
  assert.ok(held !== null && broke !== null && held <= 61 && broke > 61 && broke - held <= held * 0.05);
  for (const part of [`${held} connections`, `at ${broke}, ${broke - 61} failed: http_503.`])
    assert.ok(sentence.includes(part), sentence);
  assert.deepEqual(columns(made.slice(0, 6), 'level', 'purpose', 'outcome'), {
    level: [10, 20, 40, 80, 40, 80],
    purpose: ['step', 'step', 'step', 'step', 'control', 'again'],
    outcome: ['holds', 'holds', 'holds', 'breaks', 'holds', 'breaks'],
  });
  assert.deepEqual([made.at(-1)?.purpose, heldRuns], ['confirm', 2]);
  for (const [index, { outcome, startedAt, seconds }] of made.entries()) {
    const restedMs = Date.parse(made[index + 1]?.startedAt ?? '') - Date.parse(startedAt) - seconds * 1000;
    if (outcome === 'breaks') assert.ok(restedMs >= 195, `${restedMs} ms after run ${index + 1}`);
  }
  assert.equal(search.sizing?.perMachine, Math.floor(held * 0.7));
  assert.deepEqual(searchSchema.parse(JSON.parse(read('search.json'))), search);
  for (const document of ['search.md', 'search.html']) {
    for (const part of [sentence.split(',')[0] ?? sentence, '1,000,000'])
      assert.ok(read(document).includes(part), `${document}: ${part}`);
  }
  assert.match(read('logs/1.log'), /--overrides {.*"phases":.*} .*tiny\.yml$/m);
});

for (const [vary, limit] of [
  ['bytes', 40_000],
  ['rate', 33],
] as const) {
  it(`a search by --vary ${vary} finds a limit of ${limit}`, async (t) => {
    const { run } = begin(t, [{ duration: 100, arrivalRate: 10, rampTo: 10 }]);
    const { end, held, broke, sentence } = (await run({ limit }, { vary })).answer;
    assert.equal(end, 'found', sentence);
    assert.ok(held !== null && broke !== null && held <= limit && broke > limit, sentence);
    assert.ok(broke - held <= Math.max(0.05 * held, 2), sentence);
  });
}

it('a search reuses earlier runs when it resumes, even with another tolerance or stop condition', async (t) => {
  const { run } = begin(t);
  const first = await run({ limit: 61 });
  assert.equal(first.answer.end, 'found');
  // A finer search makes only the missing runs.
  const finer = await run({ limit: 61 }, { tolerance: '1', times: '1' });
  assert.deepEqual([finer.answer.held, finer.answer.broke], [61, 62]);
  const failures = await run({ limit: 61 }, { until: ['connections.failed > 1000'], to: '80', times: '1' });
  assert.deepEqual([failures.made, failures.answer.held], [[], 80]);
});

it('a search ends if the generator, the machine or an error is the limit, and resumes with a retry', async (t) => {
  const { run } = begin(t);
  const late = await run({ limit: 30, lagsAbove: 35 });
  assert.match(late.answer.sentence, / 20 connections .* at 40, the generator was the limit/);
  assert.deepEqual(columns(late.answer.evidence, 'code', 'text'), {
    code: ['GENERATOR_LATE', 'CONNECTIONS_FAILED'],
    text: ['it was late', '10 failed: http_503'],
  });
  assert.match(late.read('search.md'), /\| 100,000 \| at most /);
  const taken = await run({ limit: 1000, refusedAbove: 39 });
  assert.equal(taken.answer.end, 'error');
  assert.match(taken.answer.sentence, / 40 .*PORT_UNAVAILABLE.* logs\/\d+\.log/);
  const { search, answer, read } = await run({ limit: 1000 }, {}, 70);
  assert.deepEqual([answer.end, answer.held], ['doctor', 70]);
  assert.deepEqual(search.limit, { name: 'generatorFiles', max: 70, raise: 'ulimit -n 65536' });
  assert.match(answer.sentence, /generator files: at most 70/);
  assert.match(read('search.md'), /ulimit -n 65536/);
});

it('refuses another scenario in the folder of a search, and reports all wrong options together', async (t) => {
  const { write, run } = begin(t);
  await run({ limit: 30 }, { to: '10', times: '1' });
  write('tiny.yml', quickScript({ target: 'http://127.0.0.1:2' }));
  await assert.rejects(run({ limit: 30 }), { code: 'SERIES_CHANGED', message: /the scenario: .*\n {2}target: / });
  const wrong = run({ limit: 30 }, { from: '0', factor: '1', tolerance: 'x', until: ['coverage < 1'] });
  await assert.rejects(wrong, { message: /--from.*--factor.*--tolerance.*--until/s });
});
