/** The pages of the studies: their answers name only what differs by more than the noise. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { addStudy } from '../../../docs/studies/add.ts';
import { answersOf, levelName } from '../../../docs/studies/answers.ts';
import { readMeasuredStudies, readMeasuredStudy } from '../../../docs/studies/measured.ts';
import { studyPage } from '../../../docs/studies/page.ts';
import { STUDY_PAGES, shownFigure } from '../../../docs/studies/pages.ts';
import { ownStudies } from '../../../docs/studies/studies.data.ts';
import { studyDocument } from '../../../report/study/document.ts';
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

describe('the answer of a study', () => {
  it('names what differs by more than the noise, with its size', () => {
    assert.deepEqual(answersOf(transports(3), 'TRANSPORTS'), [
      'polling instead of websocket: Workers CPU per message 3.0 times.',
    ]);
    assert.match(answersOf(transports(0.5), 'TRANSPORTS')[0] ?? '', /Workers CPU per message -50 %\.$/);
  });

  it('names nothing without a difference, and says so of single runs', () => {
    assert.deepEqual(answersOf(transports(1), 'TRANSPORTS'), []);
    assert.match(studyPage(transports(3, 1)), /^# .*\n\n\*\*Too few runs to tell a difference\. As measured, /);
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
  it('has a row for each combination, also for those without a run', () => {
    const vary = { CAPACITY_ADAPTER: ['redis', 'redis-streams'], workers: [2, 4], HOLD: [3] };
    const except = [{ CAPACITY_ADAPTER: 'redis', workers: 4 }];
    const levels = { CAPACITY_ADAPTER: 'redis', workers: 2, HOLD: 3 };
    const runs = [{ levels, result: perfectResult() }];
    const page = studyPage(measuredStudy('adapters', { scenario: '1k.yml', vary, except }, runs));
    const rows = page.split('<tr').slice(2);
    assert.equal(rows.length, 3);
    assert.match(rows[0] ?? '', />redis<.*>2<.*>VALID</s);
    assert.match(rows[1] ?? '', />redis-streams<.*>2<.*>no run</s);
    assert.match(page, /Redis sent per message, bytes/);
    assert.doesNotMatch(page, /Stream entries|>HOLD</, 'what nobody measured or varied');
    assert.equal([...page.matchAll(/^- Missing: /gm)].length, 2);
    assert.match(page, /Redis 7\.0\.15/);
    assert.match(page, /\]\(\/studies\/adapters\/study\.html\)/);
  });

  it('shows only figures that exist', () => {
    for (const { picture, columns } of Object.values(STUDY_PAGES))
      for (const path of [picture, ...columns]) shownFigure(path);
  });
});

it('the overview has the answer and the picture of each stored study', () => {
  const measured = readMeasuredStudies();
  const own = ownStudies(measured);
  assert.deepEqual(own.map(({ name }) => name).sort(), measured.map(({ study }) => study.name).sort());
  for (const { name, answer, picture } of own) assert.ok(answer.endsWith('.') && picture.includes('<svg'), name);
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
