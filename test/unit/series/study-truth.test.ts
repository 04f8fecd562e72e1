/** A study of servers whose costs are known: one level helps only with another one, one fails, and Ctrl-C comes in the middle. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { studySeries } from '../../../plugin/cli/study/study-file.ts';
import { measuredRuns } from '../../../plugin/series/planned.ts';
import { runSeries } from '../../../plugin/series/series.ts';
import { renderMarkdown } from '../../../report/render/markdown.ts';
import { studyDocument } from '../../../report/study/document.ts';
import { column, columns } from '../../helpers/columns.ts';
import { fakeArtillery } from '../../helpers/fake-artillery.ts';

const vary = { RATE: [10, 20, 30], TLS: ['off', 'on'] };
const TWICE_MS = 40;

it('finds the interaction, names what failed, and goes on where it was stopped', async (t) => {
  const { folder, artillery } = fakeArtillery(
    t,
    `const { RATE, TLS } = process.env;
    const file = join(__dirname, 'count');
    const run = existsSync(file) ? Number(readFileSync(file)) + 1 : 1;
    writeFileSync(file, String(run));
    if (RATE === '30' && TLS === 'on') process.exit(3);
    leave(({ latency }) => {
      latency.oneWayMs.p99 = (RATE === '20' && TLS === 'on' ? ${2 * TWICE_MS} : ${TWICE_MS}) + (run % 3);
    });`,
  );
  const plan = { scenario: '1k.yml', vary, servers: {}, except: [], repeat: 3, seed: 1 };
  const file = { name: 'known', title: '', plan, folder, scenario: '1k.yml', scenarioHash: 'abc' };
  const start = (until?: number) => {
    const stop = new AbortController();
    let ended = 0;
    const say = (text: string) => {
      if (/ after /.test(text) && ++ended === until) stop.abort();
    };
    return runSeries(studySeries(file, folder), { artillery, signal: stop.signal, say });
  };
  const { document: stopped } = await start(7);
  assert.equal(stopped.runs.length, 7);
  const { document: study, runs } = await start();

  // What failed before the stop has another chance; what was measured is not made again.
  const kept = columns(study.runs.slice(0, 7), 'number', 'result');
  assert.deepEqual(kept, columns(stopped.runs, 'number', 'result'));
  const measured = study.runs.filter(({ exitCode }) => exitCode === 0);
  assert.equal(measured.length, 15);
  assert.equal(new Set(measured.map(({ block, levels }) => JSON.stringify([block, levels]))).size, 15);
  assert.deepEqual(column(study.combinations, 'usable'), [3, 3, 3, 3, 3, 0]);

  const apart = study.differences.filter(({ figures }) => figures['latency.oneWayMs.p99']?.answer === 'worse');
  assert.deepEqual(columns(apart, 'name', 'others', 'level'), {
    name: ['RATE', 'TLS'],
    others: [{ TLS: 'on' }, { RATE: 20 }],
    level: [20, 'on'],
  });
  for (const { figures } of apart) {
    const { low, high } = figures['latency.oneWayMs.p99'] ?? {};
    assert.ok((low ?? 1e9) <= TWICE_MS && (high ?? 0) >= TWICE_MS, `${low} to ${high}`);
  }
  const made = measuredRuns(runs);
  const answers = studyDocument(study, made).answer.lines.join('\n');
  assert.match(answers, /TLS=on instead of off: One way p99 .* \(1 of \d settings\)/);
  assert.match(renderMarkdown(studyDocument(study, made)), /RATE=30, TLS=on: figures from 0 of 3 runs/);
});
