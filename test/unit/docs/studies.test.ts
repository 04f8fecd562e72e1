/** The pages of the studies: their answers name only what differs by more than the noise. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { addStudy } from '../../../docs/add.ts';
import { figureCell } from '../../../docs/figures.ts';
import {
  type MeasuredStudy,
  readMeasuredStudies,
  readMeasuredStudy,
  STUDIES,
  studyPage,
} from '../../../docs/studies/page.ts';
import { answersOf, levelName } from '../../../report/study/answers.ts';
import { studyDocument } from '../../../report/study/document.ts';
import { questionsOf, summarize } from '../../../report/study/summarize.ts';
import { perfectResult } from '../../helpers/results.ts';
import { measuredStudy } from '../../helpers/studies.ts';

const PLAN = { scenario: '1k.yml', vary: { TRANSPORTS: ['websocket', 'polling'], HOLD: [3] }, repeat: 3 };

/** @param times what a copy costs with polling, in workers' CPU; the other side is 1 */
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

const answers = ({ study, runs }: MeasuredStudy) => questionsOf(study.plan, runs).flatMap(answersOf);

describe('the answer of a study', () => {
  it('names what differs by more than the noise, with its size', () => {
    assert.deepEqual(answers(transports(3)), ['polling instead of websocket: Workers CPU per message 3.0 times']);
    assert.match(answers(transports(0.5))[0] ?? '', /Workers CPU per message -50 %$/);
  });

  it('names nothing without a difference, and says so of single runs', () => {
    assert.deepEqual(answers(transports(1)), ['polling instead of websocket: no difference seen']);
    assert.match(answers(transports(3, 1))[0] ?? '', /^polling instead of websocket: inconclusive/);
  });

  it('calls a level by its word, or with its setting', () => {
    const names = [
      levelName('TLS', 'on'),
      levelName('CAPACITY_ADAPTER', 'redis'),
      levelName('broadcasts.binary', true),
    ];
    assert.deepEqual(names, ['TLS=on', 'redis', 'binary=true']);
  });
});

describe('the page of a study', () => {
  it('has its answers, a table of each pair, what is missing, and the machine', () => {
    const vary = { CAPACITY_ADAPTER: ['redis', 'redis-streams'], workers: [2, 4], HOLD: [3] };
    const except = [{ CAPACITY_ADAPTER: 'redis', workers: 4 }];
    const levels = { CAPACITY_ADAPTER: 'redis', workers: 2, HOLD: 3 };
    const runs = [{ levels, result: perfectResult() }];
    const page = studyPage(measuredStudy('adapters', { scenario: '1k.yml', vary, except }, runs));
    assert.match(
      page,
      /^# Redis adapters\n\n\*\*What does it cost\?\*\*\n\n- redis-streams instead of redis: inconclusive/,
    );
    assert.equal([...page.matchAll(/<li>CAPACITY_ADAPTER=redis-streams/g)].length, 2);
    assert.match(page, /a processor, 2 cores; Linux 6\.1; node v24/);
  });

  it('is computed, or said to come from documentation', () => {
    const kinds =
      /^## (From documentation and code, not from these runs|What was measured|How a storm is measured|Installing|Socket\.IO's own figures)/;
    for (const { study } of readMeasuredStudies()) {
      const text = readFileSync(join(STUDIES, study.name, 'about.md'), 'utf8');
      assert.match(text, /^# \w.*\n\n## /, study.name);
      for (const heading of text.match(/^## .*$/gm) ?? []) assert.match(heading, kinds, study.name);
    }
  });
});

it('each stored study has at least two usable runs of each combination', () => {
  for (const { study, runs } of readMeasuredStudies()) {
    for (const { levels, usable } of summarize(study.plan, runs).combinations)
      assert.ok(usable >= 2, `${study.name}, ${JSON.stringify(levels)}: ${usable}`);
  }
});

describe('a cell', () => {
  const path = 'cpu.worker.broadcastMicrosecondsPerMessage';
  const results = (reach: number | null) =>
    [1000, 1100].map((value) => {
      const result = perfectResult();
      const broadcastMicrosecondsPerMessage = reach === null ? null : { low95: value - reach, high95: value + reach };
      const none = { rampSecondsPerThousandConnects: null, idlePercent: null, idleConnectionsPercent: null };
      const intervals = { ...none, clientMicrosecondsPerMessage: null, broadcastMicrosecondsPerMessage };
      Object.assign(result.cpu.worker ?? {}, { broadcastMicrosecondsPerMessage: value, intervals });
      return result;
    });

  it('has the interval within runs where it is wider than what they differ by', () => {
    assert.equal(figureCell(results(400), path), '1,050.0 ± 282.8');
    assert.equal(figureCell(results(10), path), '1,050.0 (1,000.0 to 1,100.0)');
    assert.equal(figureCell(results(null), path), '1,050.0 (1,000.0 to 1,100.0)');
    assert.equal(figureCell(results(400).slice(0, 1), path), '1,000.0 ± 400.0');
  });
});

it('a study is the same report once it is on the site', (t) => {
  const measured = transports(3);
  const folder = mkdtempSync(join(tmpdir(), 'studies-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const stored = readMeasuredStudy(addStudy(measured, folder));
  assert.ok(stored);
  assert.deepEqual(stored.study.runs.map(({ result }) => result).slice(0, 2), ['runs/1.json', 'runs/2.json']);
  const pathless = ({ sections, ...document }: ReturnType<typeof studyDocument>) => ({
    ...document,
    sections: sections.filter(({ id }) => id !== 'runs'),
  });
  assert.equal(
    JSON.stringify(pathless(studyDocument(stored.study, stored.runs))),
    JSON.stringify(pathless(studyDocument(measured.study, measured.runs))),
  );
});
