import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { orderOf } from '../../../plugin/cli/study/order.ts';
import { secondsLeft } from '../../../plugin/cli/study/progress.ts';
import { changesOf, earlierRuns, STUDY } from '../../../plugin/cli/study/resume.ts';
import type { StudyFile } from '../../../plugin/cli/study/study-file.ts';
import type { Plan, Study, StudyRun } from '../../../protocol/documents/study.ts';
import { labelOf } from '../../../report/study/summarize.ts';
import { perfectResult } from '../../helpers/results.ts';

const PLAN: Plan = {
  scenario: '1k.yml',
  vary: { TLS: ['off', 'on'], workers: [1, 2, 4] },
  servers: {},
  except: [],
  repeat: 20,
  seed: 1,
};
const FILE: StudyFile = { name: 'tls', title: '', plan: PLAN, folder: '.', scenario: '1k.yml', scenarioHash: 'abc' };

function runOf(number: number, given: Partial<StudyRun> = {}): StudyRun {
  const levels = { TLS: 'off', workers: 1 };
  const startedAt = '2026-01-02T03:04:05.000Z';
  const measured = { exitCode: 0, seconds: 60, result: null, status: null, problem: null };
  return { number, block: 1, levels, startedAt, ...measured, ...given };
}

describe('the order of runs', () => {
  const order = orderOf(PLAN);
  const blocks = [...Map.groupBy(order, ({ block }) => block).values()].map((runs) =>
    runs.map(({ levels }) => labelOf(levels)),
  );

  it('has every combination once in each block', () => {
    assert.deepEqual(
      order.map(({ number }) => number),
      Array.from({ length: 120 }, (_, index) => index + 1),
    );
    assert.equal(blocks.length, 20);
    for (const block of blocks) {
      assert.deepEqual(block.toSorted(), blocks[0]?.toSorted());
      assert.equal(new Set(block).size, 6);
    }
  });

  it('is another one in each block, so that no combination is always first', () => {
    assert.ok(new Set(blocks.map((block) => block.join())).size > 15);
    assert.equal(new Set(blocks.map(([first]) => first)).size, 6);
  });

  it('follows from the plan, and changes with the seed', () => {
    assert.deepEqual(orderOf(PLAN), order);
    assert.notDeepEqual(orderOf({ ...PLAN, seed: 2 }), order);
  });
});

describe('a study that is resumed', () => {
  it('lists what has changed in its file or its scenario', () => {
    const changed = { ...PLAN, repeat: 5, vary: { TLS: ['off', 'on'], workers: [1, 2], RATE: [1] } };
    assert.deepEqual(changesOf(FILE, { plan: changed, scenarioHash: 'other' }), [
      'repeat: was 20, is 5',
      'vary.workers: was [1,2,4], is [1,2]',
      'vary.RATE: was not there, is [1]',
      'the text of 1k.yml has changed',
    ]);
    assert.deepEqual(changesOf(FILE, FILE), []);
    const { TLS, workers } = PLAN.vary as { TLS: string[]; workers: number[] };
    const swapped = { ...PLAN, vary: { workers, TLS } };
    assert.deepEqual(changesOf(FILE, { ...FILE, plan: swapped }), [
      'the order in vary: was TLS, workers, is workers, TLS',
    ]);
  });

  it('takes the runs whose result is still there, and refuses another study', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'study-'));
    t.after(() => rmSync(folder, { recursive: true }));
    assert.equal(earlierRuns(folder, FILE).runs.size, 0);
    writeFileSync(join(folder, 'result.json'), JSON.stringify(perfectResult()));
    const study: Study = {
      schemaVersion: 1,
      name: 'tls',
      title: '',
      plan: PLAN,
      scenarioHash: 'abc',
      startedAt: '2026-01-02T03:04:05.000Z',
      planned: 120,
      runs: [runOf(1, { result: 'result.json' }), runOf(2, { result: 'gone.json' }), runOf(3, { exitCode: 2 })],
      combinations: [],
      differences: [],
    };
    writeFileSync(join(folder, STUDY), JSON.stringify(study));
    const { startedAt, runs } = earlierRuns(folder, FILE);
    assert.equal(startedAt, study.startedAt);
    assert.deepEqual([...runs.keys()], [1, 3]);
    assert.equal(runs.get(1)?.result?.verdict.status, 'VALID');
    assert.throws(() => earlierRuns(folder, { ...FILE, scenarioHash: 'def' }), { code: 'STUDY_CHANGED' });
    writeFileSync(join(folder, STUDY), '{');
    assert.throws(() => earlierRuns(folder, FILE), { code: 'STUDY_UNREADABLE' });
  });
});

it('the time left counts only the runs that are still to come', () => {
  assert.equal(secondsLeft(1, [], 4), undefined);
  assert.equal(secondsLeft(3, [runOf(1), runOf(2, { seconds: 30 })], 4), 90);
  // A refused run ends at once, and a resumed study has done some of the later ones.
  assert.equal(secondsLeft(2, [runOf(1), runOf(2, { exitCode: 2, seconds: 0 }), runOf(3)], 4), 120);
});
