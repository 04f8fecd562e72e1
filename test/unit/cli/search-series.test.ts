/** The runs of a search, with a program in place of Artillery that breaks at a number of connections. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { readTask, type SearchOptions } from '../../../plugin/cli/search/plan.ts';
import { searchSeries } from '../../../plugin/cli/search/series.ts';
import type { Diagnosis } from '../../../plugin/doctor/diagnosis.ts';
import { runSeries } from '../../../plugin/series/series.ts';
import { searchSchema } from '../../../protocol/documents/search.ts';
import { columns } from '../../helpers/columns.ts';
import { fakeArtillery } from '../../helpers/fake-artillery.ts';
import { quickScript } from '../../helpers/run.ts';

const BREAKS = `
const { phases } = overrides.config;
const ramps = phases.filter(({ pause }) => pause === undefined);
const arrivals = ({ duration, arrivalRate, rampTo }, second) =>
  Math.round(arrivalRate + ((rampTo - arrivalRate) / (duration - 1)) * second);
const seconds = ramps.flatMap((ramp) => Array.from({ length: ramp.duration }, (_, second) => arrivals(ramp, second)));
const connections = seconds.reduce((sum, one) => sum + one, 0);
const { limit, lagsAbove = Infinity, refusedAbove = Infinity } = read('behaviour.json');
if (connections > refusedAbove) {
  console.error('\\n  PORT_UNAVAILABLE: by another\\n  fix: end it');
  process.exit(2);
}
const failed = Math.max(0, connections - limit);
const reasons = [
  ...(failed ? [{ code: 'CONNECTIONS_FAILED', message: failed + ' failed' }] : []),
  ...(connections > lagsAbove ? [{ code: 'GENERATOR_LATE', message: 'it was late' }] : []),
];
leave((result) => {
  // So late that connections can end by it.
  if (connections > lagsAbove) result.generator = result.generator.map((loop) => ({ ...loop, delayMaxMs: 5000 }));
  const failures = failed ? { http_503: failed } : {};
  Object.assign(result.connections, { target: connections, held: connections - failed, failed, failures });
  result.verdict = { status: reasons.length ? 'SUSPECT' : 'VALID', reasons };
});
process.exit(reasons.length ? 3 : 0);
`;

interface Behaviour {
  limit: number;
  lagsAbove?: number;
  refusedAbove?: number;
}

function begin(t: TestContext) {
  const { folder, artillery, write } = fakeArtillery(t, BREAKS);
  write('tiny.yml', quickScript());
  const run = async (
    behaviour: Behaviour,
    options: Partial<SearchOptions> = {},
    { highest = null as number | null } = {},
  ) => {
    write('behaviour.json', behaviour);
    const diagnosis = (connections: number) =>
      ({
        fits: highest === null || connections <= highest,
        highest,
        limits: [{ name: 'generatorFiles', max: highest, raise: 'ulimit -n 65536' }],
      }) as Diagnosis;
    const task = await readTask(join(folder, 'tiny.yml'), { vary: 'connections', rest: '0', ...options });
    const series = searchSeries(task, folder, async ({ load }) => diagnosis(load.connectionsAtOnce));
    let earlier = 0;
    const next: typeof series.next = (runs, before) => {
      earlier = before;
      return series.next(runs, before);
    };
    const { signal } = new AbortController();
    const { document } = await runSeries({ ...series, next }, { artillery, signal, say: () => {} });
    const read = (name: string) => readFileSync(join(series.folder, name), 'utf8');
    return { search: document, made: document.runs.slice(earlier), read };
  };
  return { folder, write, run };
}

it('answers in one sentence, with the runs, the evidence and the machines, in all documents', async (t) => {
  const { run } = begin(t);
  const { search, made, read } = await run({ limit: 61 }, { repeat: '1', rest: '0.2' });
  assert.equal(search.answer.end, 'found');
  const { held, broke } = search.answer;
  assert.ok(held !== null && broke !== null && held <= 61 && broke > 61 && broke - held <= held * 0.05);
  const sentence = `This deployment held ${held} connections in all 2 runs; at ${broke}, ${broke - 61} connection${broke === 62 ? '' : 's'} failed, because`;
  assert.ok(search.answer.sentence.startsWith(sentence), search.answer.sentence);
  assert.match(search.answer.sentence, /`http_503`: a connection limit of the proxy or of the server\.$/);
  assert.deepEqual(columns(made.slice(0, 6), 'level', 'purpose', 'outcome'), {
    level: [10, 20, 40, 80, 40, 80],
    purpose: ['step', 'step', 'step', 'step', 'control', 'again'],
    outcome: ['holds', 'holds', 'holds', 'breaks', 'holds', 'breaks'],
  });
  assert.deepEqual([made.at(-1)?.purpose, search.answer.heldRuns], ['confirm', 2]);
  for (const [index, { outcome, startedAt, seconds }] of made.entries()) {
    const restedMs = Date.parse(made[index + 1]?.startedAt ?? '') - Date.parse(startedAt) - seconds * 1000;
    if (outcome === 'breaks') assert.ok(restedMs >= 195, `${restedMs} ms after run ${index + 1}`);
  }
  assert.equal(search.sizing?.perMachine, Math.floor(held * 0.7));
  assert.deepEqual(searchSchema.parse(JSON.parse(read('search.json'))), search);
  for (const document of ['search.md', 'search.html']) {
    assert.ok(read(document).includes(`This deployment held ${held} connections in all 2 runs; at ${broke}`), document);
    assert.match(read(document), /1,000,000/);
  }
  assert.match(read('logs/1.log'), /--overrides {.*"phases":.*} .*tiny\.yml$/m);
});

it('resumes by the same runs, whatever the rules are now', async (t) => {
  const { run } = begin(t);
  const first = await run({ limit: 61 });
  assert.equal(first.search.answer.end, 'found');
  assert.deepEqual((await run({ limit: 61 })).made, [], 'it is finished');
  // Those that are missing are made.
  const finer = await run({ limit: 61 }, { tolerance: '1', repeat: '0' });
  assert.deepEqual([finer.search.answer.held, finer.search.answer.broke], [61, 62]);
  const failures = await run({ limit: 61 }, { until: ['connections.failed > 1000'], to: '80', repeat: '0' });
  assert.deepEqual([failures.made, failures.search.answer.held], [[], 80]);
});

it('ends where the generator, the machine or an error ends it, says so, and tries that again', async (t) => {
  const { run } = begin(t);
  const late = await run({ limit: 30, lagsAbove: 35 });
  assert.equal(
    late.search.answer.sentence,
    'This deployment held 20 connections in its only run, and perhaps holds more: at 40, the generator was the limit, not the deployment (it was late).',
  );
  assert.deepEqual(late.search.answer.evidence, ['GENERATOR_LATE: it was late', '10 connections failed']);
  assert.match(late.read('search.md'), /\| 100,000 \| at most /);
  const taken = await run({ limit: 1000, refusedAbove: 39 });
  assert.equal(taken.search.answer.end, 'error');
  assert.match(
    taken.search.answer.sentence,
    /a run at 40 did not come to its end: PORT_UNAVAILABLE: by another \(exit code 2\); see logs\/\d+\.log\.$/,
  );
  const doctor = await run({ limit: 1000 }, {}, { highest: 70 });
  assert.deepEqual([doctor.search.answer.end, doctor.search.answer.held], ['doctor', 70]);
  assert.deepEqual(doctor.search.limit, { name: 'generatorFiles', max: 70, raise: 'ulimit -n 65536' });
  assert.match(
    doctor.search.answer.sentence,
    /the machine allows no higher level \(generator files: at most 70 connections\)/,
  );
  assert.match(doctor.read('search.md'), /ulimit -n 65536/);
});

it('refuses another scenario in the same folder, and options that are wrong, all together', async (t) => {
  const { write, run } = begin(t);
  await run({ limit: 30 }, { to: '10', repeat: '0' });
  write('tiny.yml', quickScript({ target: 'http://127.0.0.1:2' }));
  await assert.rejects(run({ limit: 30 }), {
    code: 'SERIES_CHANGED',
    message: /the text of the scenario: was .*\n {2}target: was/,
  });
  await assert.rejects(
    run({ limit: 30 }, { from: '0', factor: '1', tolerance: 'x', until: ['coverage < 1'] }),
    (error: Error) => {
      for (const name of ['--from', '--factor', '--tolerance', '--until'])
        assert.ok(error.message.includes(name), error.message);
      return true;
    },
  );
});
