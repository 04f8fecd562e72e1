import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { SearchEnd, SearchPlan, SearchResult, SearchRun } from '../../../protocol/documents/search-schema.ts';
import { renderHtml } from '../../../report/render/html.ts';
import { renderMarkdown } from '../../../report/render/markdown.ts';
import { findBracket } from '../../../report/search/bracket.ts';
import { levelAmountText, type SearchedRun, searchAnswerOf } from '../../../report/search/search-answer.ts';
import { searchDocument } from '../../../report/search/search-page.ts';
import { assertGolden } from '../../helpers/golden.ts';
import { perfectResult } from '../../helpers/results.ts';

const SLOW = 'one way p99 exceeded 500 ms (it was 733 ms)';
const MISSED = 'only 280 of 315 connections/s were reached';

const PLAN: SearchPlan = {
  scenario: 'chat.yml',
  scenarioHash: 'abc',
  environment: null,
  target: 'http://127.0.0.1:3000',
  vary: 'connections',
  until: [],
  from: 1000,
  to: null,
  factor: 2,
  tolerance: 0.05,
  repeat: 2,
  restSeconds: 30,
  headroom: 0.3,
};

function runs(...tried: [number, SearchRun['outcome'], string?][]): SearchedRun[] {
  return tried.map(([level, outcome, because], index) => ({
    run: {
      number: index + 1,
      level,
      purpose: 'step',
      startedAt: '2026-01-02T03:04:05.000Z',
      exitCode: 0,
      seconds: 60,
      result: `runs/${index + 1}/result.json`,
      status: 'VALID',
      problem: null,
      outcome,
      blame: null,
      because: because === undefined ? [] : [{ code: null, text: because, isCause: false }],
    },
    result: perfectResult(),
  }));
}

function asControl(made: SearchedRun[]): SearchedRun[] {
  return made.map((one, index) => {
    const isLast = index === made.length - 1;
    return isLast ? { ...one, run: { ...one.run, purpose: 'control' } } : one;
  });
}

function onTwoHosts(made: SearchedRun[]): SearchedRun[] {
  return made.map((one) => ({ ...one, result: { ...perfectResult(), generators: Array(2).fill({}) } }));
}

/** Ends of a search, with its runs and the varied setting. */
const ENDS: [end: SearchEnd, tried: SearchedRun[], plan?: Partial<SearchPlan>][] = [
  ['found', runs([41_000, 'holds'], [41_000, 'holds'], [44_000, 'breaks', SLOW], [44_000, 'breaks', SLOW])],
  [
    'found',
    runs([41_000, 'breaks', SLOW], ...Array(3).fill([41_000, 'holds']), ...Array(2).fill([44_000, 'breaks', SLOW])),
  ],
  ['found', runs([300, 'holds'], [315, 'breaks', MISSED], [315, 'breaks', MISSED]), { vary: 'rate' }],
  ['recovery', asControl(runs([1000, 'holds'], [2000, 'breaks', 'x'], [1000, 'breaks', 'x']))],
  [
    'recovery',
    [990, 980, 900].flatMap((level) =>
      runs([level, 'holds'], ...Array(level === 900 ? 0 : 2).fill([level, 'breaks', 'x'])),
    ),
  ],
  ['none', runs([2, 'breaks', '1 connection failed'], [2, 'breaks', '1 connection failed'])],
  ['highest', runs([1, 'holds']), { to: 1, vary: 'broadcastsPerSec' }],
  ['highest', runs([250, 'holds']), { vary: 'rate' }],
  ['machine', runs([1000, 'holds'], [2000, 'cannotTell', 'only 0.4 % of the machine was idle'])],
  ['generator', onTwoHosts(runs([1000, 'holds'], [2000, 'cannotTell', 'x'])), { to: 8000 }],
  ['measurement', runs([1000, 'cannotTell', 'x'])],
];

it('a search prints a sentence as its answer, for every way in which it can end', (t) => {
  const sentences = ENDS.map(
    ([end, tried, plan]) => `${end}: ${searchAnswerOf({ ...PLAN, ...plan }, tried, end, null).sentence}`,
  );
  assertGolden(t, 'search-ends.txt', sentences.join('\n'));
  assert.equal(levelAmountText(833.333, 'rate'), '833.3 new connections per second');
  assert.equal(levelAmountText(1000, 'bytes'), '1,000 bytes of payload in each broadcast');
});

it('the found limit is between the highest level held and the lowest level broken by most of its runs', () => {
  type Level = number | undefined;
  const CASES: [tried: string, held: Level, broke: Level, open: Level][] = [
    ['', undefined, undefined, undefined],
    ['10?', undefined, undefined, undefined],
    ['20+ 10+ 10+', 20, undefined, undefined],
    ['10-', undefined, undefined, 10],
    ['10+ 10-', undefined, undefined, 10],
    ['10- 10+ 10+ 20+ 20- 20-', 10, 20, undefined],
    ['10+ 20- 30- 40- 40-', 10, 40, 20],
    ['40+ 30- 10+ 30- 35+ 20+', 20, 30, undefined],
    ['10+ 20- 20- 5- 30-', 10, 20, 5],
    ['10+ 20- 10c 10c 10c', 10, undefined, 20],
    ['10- 10- 10+ 10+ 10+', 10, undefined, undefined],
  ];
  const OUTCOMES = { '+': 'holds', '-': 'breaks', c: 'breaks', '?': 'cannotTell' } as const;
  for (const [tried, ...levels] of CASES) {
    const found = findBracket(
      (tried.match(/\d+./g) ?? []).map((one) => {
        const mark = one.slice(-1) as keyof typeof OUTCOMES;
        const purpose = mark === 'c' ? ('control' as const) : ('step' as const);
        return { level: Number.parseInt(one, 10), purpose, outcome: OUTCOMES[mark], blame: null };
      }),
    );
    assert.deepEqual([found.held?.level, found.broke?.level, found.open?.level], levels, tried);
  }
});

it('a search reports levels at which only some runs held, and escapes text from outside', (t) => {
  const failed: [number, SearchRun['outcome'], string] = [2000, 'breaks', '<img src=x> |failed|'];
  const tried = runs(
    [500, 'breaks'],
    [500, 'holds'],
    [500, 'holds'],
    [1000, 'holds'],
    [2000, 'holds'],
    failed,
    failed,
    failed,
    [3000, 'holds'],
  );
  for (const control of runs([1000, 'breaks'])) tried.push({ ...control, run: { ...control.run, purpose: 'control' } });
  const search: SearchResult = {
    schemaVersion: 3,
    plan: PLAN,
    startedAt: '2026-01-02T03:04:05.000Z',
    runs: tried.map(({ run }) => run),
    answer: searchAnswerOf(PLAN, tried, 'found', null),
    limit: null,
    sizing: null,
  };
  const document = searchDocument(search);
  assertGolden(t, 'search.md', renderMarkdown(document));
  const page = renderHtml(document);
  assert.ok(!page.includes('<img') && page.includes('&lt;img src=x&gt; |failed|'));
});
