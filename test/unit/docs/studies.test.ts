/** Tests the pages of studies. Answers contain only differences that exceed the noise. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { addStudy } from '../../../docs/add.ts';
import {
  type MeasuredStudy,
  readMeasuredStudies,
  readMeasuredStudy,
  STUDIES,
  studyPage,
} from '../../../docs/studies/page.ts';
import { levelName, studyAnswers } from '../../../report/study/study-answers.ts';
import { studyDocument } from '../../../report/study/study-page.ts';
import { studyQuestions, summarizeStudy } from '../../../report/study/summarize.ts';
import { fileTree } from '../../helpers/file-tree.ts';
import { perfectResult } from '../../helpers/results.ts';
import { measuredStudy } from '../../helpers/studies.ts';

const PLAN = { scenario: '1k.yml', vary: { TRANSPORTS: ['websocket', 'polling'], HOLD: [3] }, repeat: 3 };

/** @param times CPU per copy with polling, as a multiple of WebSocket */
function transports(times: number, runs = 3) {
  const all = ['websocket', 'polling'].flatMap((level) =>
    Array.from({ length: runs }, (_, index) => {
      const result = perfectResult();
      const worker = result.cpu.worker;
      if (worker) worker.broadcastMicrosecondsPerMessage = 20 * (level === 'polling' ? times : 1) * (1 + index / 100);
      return { levels: { TRANSPORTS: level, HOLD: 3 }, result };
    }),
  );
  return measuredStudy('transports', { ...PLAN, repeat: runs }, all);
}

const answers = ({ study, runs }: MeasuredStudy) => studyQuestions(study.plan, runs).flatMap(studyAnswers);

describe('the answer of a study', () => {
  for (const [study, answer] of [
    [transports(3), 'Workers CPU per message 3.0 times'],
    [transports(0.5), 'Workers CPU per message -50 %'],
    [transports(1), 'no difference; the same: Connections held'],
    [transports(3, 1), 'inconclusive'],
  ] as const) {
    it(`the answer of a study lists differences above the margin of error: ${answer}`, () => {
      const [first, ...others] = answers(study);
      assert.ok(first?.startsWith(`polling instead of websocket: ${answer}`), first);
      assert.deepEqual(others, []);
    });
  }

  it('the answer of a study reports that delivery and memory are equal within a margin, unless they changed', () => {
    const same = / the same: .*Delivered, Memory per connection \(within \d[\d.]* %\)$/;
    for (const study of [transports(1), transports(3)]) assert.match(answers(study).join(), same);
    const dearer = transports(1);
    for (const { levels, result } of dearer.runs) {
      const cost = result?.memory.perConnection;
      if (cost && levels.TRANSPORTS === 'polling')
        for (const key of ['bytes', 'low95', 'high95'] as const) cost[key] = 2 * (cost[key] as number);
    }
    assert.match(answers(dearer).join(), /: Memory per connection 2\.0 times; the same: .*Delivered$/);
    for (const { result } of dearer.runs) Object.assign(result?.memory.perConnection ?? {}, { high95: 1e6 });
    assert.match(
      answers(dearer).join(),
      /inconclusive in Memory per connection: its interval within a run is too wide/,
    );
  });

  it('the answer of a study names a level by its label, or by its setting and value', () => {
    assert.equal(levelName('CAPACITY_ADAPTER', 'redis'), 'redis');
    assert.deepEqual([levelName('TLS', 'on'), levelName('broadcasts.binary', true)], ['TLS=on', 'binary=true']);
    assert.equal(levelName('scenario', '../raccoon-50k.yml'), 'raccoon-50k');
  });
});

describe('the page of a study', () => {
  it('the page of a study has its answers, a table of each pair, missing runs, and the machine', () => {
    const vary = { CAPACITY_ADAPTER: ['redis', 'redis-streams'], workers: [2, 4], HOLD: [3] };
    const except = [{ CAPACITY_ADAPTER: 'redis', workers: 4 }];
    const levels = { CAPACITY_ADAPTER: 'redis', workers: 2, HOLD: 3 };
    const runs = [{ levels, result: perfectResult() }];
    const page = studyPage(measuredStudy('adapters', { scenario: '1k.yml', vary, except }, runs));
    assert.match(page, /^# Redis adapters\n[\s\S]*\n- redis-streams instead of redis: inconclusive/);
    assert.equal([...page.matchAll(/<li>CAPACITY_ADAPTER=redis-streams/g)].length, 2);
    assert.match(page, /a processor, 2 cores, 8\.0 GiB, Linux 6\.1; node v24/);
  });

  it('the page of a study marks each section as computed or as taken from documentation', () => {
    const kinds =
      /^## (From documentation and code, not from these runs|What was measured|How a storm is measured|Installing|Socket\.IO's own figures)/;
    for (const { study } of readMeasuredStudies()) {
      const text = readFileSync(join(STUDIES, study.name, 'about.md'), 'utf8');
      assert.match(text, /^# \w.*\n\n## /, study.name);
      for (const heading of text.match(/^## .*$/gm) ?? []) assert.match(heading, kinds, study.name);
    }
  });
});

it('each stored study has at least two usable runs of each combination of levels, on one machine', () => {
  for (const { study, runs } of readMeasuredStudies()) {
    const machines = runs.flatMap(({ result }) => result?.environment ?? []);
    assert.equal(new Set(machines.map(({ cpu, cpuCount, kernel }) => `${cpu} ${cpuCount} ${kernel}`)).size, 1);
    for (const { levels, usable } of summarizeStudy(study.plan, runs).combinations)
      assert.ok(usable >= 2, `${study.name}, ${JSON.stringify(levels)}: ${usable}`);
  }
});

it('a study stored for the site gives the same report as the measured one', (t) => {
  const measured = transports(3);
  const folder = addStudy(measured, fileTree(t, {}));
  const stored = readMeasuredStudy(folder);
  assert.ok(stored);
  assert.deepEqual(stored.study.runs.map(({ result }) => result).slice(0, 2), ['runs/1.json', 'runs/2.json']);
  const reportOf = ({ study, runs }: MeasuredStudy) => {
    const { sections, ...document } = studyDocument(study, runs);
    return JSON.stringify({ ...document, sections: sections.filter(({ id }) => id !== 'runs') });
  };
  assert.equal(reportOf(stored), reportOf(measured));
  const { runs, ...study } = stored.study;
  const [first, ...others] = runs;
  writeFileSync(
    join(folder, 'study.json'),
    JSON.stringify({ ...study, runs: [{ ...first, exitCode: 130 }, ...others] }),
  );
  const isCounted = readMeasuredStudy(folder).runs.map(({ result }) => result !== undefined);
  assert.deepEqual(isCounted.slice(0, 2), [false, true], 'a run that was stopped has a result, which does not count');
});
