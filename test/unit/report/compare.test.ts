import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Study } from '../../../protocol/documents/study.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { type ComparedFigure, compare, type RunSet, USABLE_RUNS } from '../../../report/compare/compare.ts';
import { comparisonDocument, seriesDocument } from '../../../report/compare/document.ts';
import { answerText, comparedRow, headlineOf } from '../../../report/compare/text.ts';
import { FIGURES, isCounted, valueAt } from '../../../report/figures/figures.ts';
import { renderConsole } from '../../../report/render/console.ts';
import { renderHtml } from '../../../report/render/html.ts';
import { summarize } from '../../../report/study/summarize.ts';
import { plannedFault } from '../../helpers/planned-fault.ts';
import { perfectResult, resultWithMessages } from '../../helpers/results.ts';

const ONE_WAY = 'latency.oneWayMs.p50';
const WORKER = 'memory.perConnectionBytes.workerPss.slope';

function run(change: (result: Result) => void = () => {}): Result {
  const result = perfectResult();
  change(result);
  return result;
}

const latencyRuns = (name: string, ...p50s: number[]): RunSet => ({
  name,
  results: p50s.map((p50) =>
    run(({ latency }) => {
      if (latency.oneWayMs) latency.oneWayMs.p50 = p50;
      latency.intervals = null;
    }),
  ),
});

/** One run whose workers cost `slope` bytes per connection, plus or minus `halfWidth`, by five plateaus. */
const slopeRun = (slope: number, halfWidth: number): RunSet => ({
  name: String(slope),
  results: [
    run(({ memory }) => {
      const line = memory.perConnectionBytes.workerPss;
      Object.assign(line ?? {}, { slope, low95: slope - halfWidth, high95: slope + halfWidth });
    }),
  ],
});

function figure(sets: RunSet[], path: string): ComparedFigure {
  const found = compare(sets).figures.find((one) => one.path === path);
  assert.ok(found, path);
  return found;
}

const answers = (sets: RunSet[], path: string) => figure(sets, path).differences.map(({ answer }) => answer);

describe('compare', () => {
  it('every figure is a key of the result document', () => {
    const [quiet, busy] = [perfectResult(), { ...resultWithMessages(), fault: plannedFault() }];
    for (const { path } of FIGURES) {
      assert.equal(typeof (valueAt(quiet, path) ?? valueAt(busy, path)), 'number', path);
    }
  });

  it('repeats on both sides: a difference far beyond the spread is one, in the figure’s direction', () => {
    const before = latencyRuns('before', 50, 51, 49, 50, 50);
    assert.deepEqual(answers([before, latencyRuns('after', 70, 71, 69, 70, 70)], ONE_WAY), ['worse']);
    assert.deepEqual(answers([before, latencyRuns('after', 30, 31, 29, 30, 30)], ONE_WAY), ['better']);
    const rate = (perSec: number[]): RunSet => ({
      name: '',
      results: perSec.map((achieved) => run(({ connections }) => (connections.achievedRatePerSec = achieved))),
    });
    assert.deepEqual(answers([rate([500, 501, 499]), rate([300, 301, 299])], 'connections.achievedRatePerSec'), [
      'worse',
    ]);
  });

  it('repeats on both sides: within the spread there is none', () => {
    const [a, b] = [latencyRuns('a', 40, 50, 60), latencyRuns('b', 45, 55, 65)];
    const [difference] = figure([a, b], ONE_WAY).differences;
    assert.equal(difference?.answer, 'no-difference');
    assert.equal(difference.noise, 'repeats');
    assert.equal(difference.value, 5);
    assert.equal(difference.share, 0.1);
    assert.ok((difference.low ?? 1) < 0 && (difference.high ?? -1) > 0);
  });

  it('a single run against repeats is evaluated by their spread', () => {
    const baseline = latencyRuns('baseline', 49, 50, 51, 50, 50);
    assert.deepEqual(answers([baseline, latencyRuns('one', 50.5)], ONE_WAY), ['no-difference']);
    assert.deepEqual(answers([baseline, latencyRuns('one', 90)], ONE_WAY), ['worse']);
  });

  it('one run each: only what has an interval of its own is evaluated', () => {
    const [difference] = figure([latencyRuns('a', 10), latencyRuns('b', 1000)], ONE_WAY).differences;
    assert.deepEqual(difference, {
      answer: 'cannot-tell',
      value: 990,
      share: 99,
      low: null,
      high: null,
      detectable: null,
      noise: null,
    });
  });

  it('latencies of one run each are known by their broadcasts: only several times as much is a difference', () => {
    const one = (p50: number): RunSet => {
      const set = latencyRuns('one', p50);
      const interval = { p50: { low95: p50 * 0.9, high95: p50 * 1.1 }, p99: null };
      for (const { latency } of set.results) latency.intervals = { oneWayMs: interval, completionMs: interval };
      return set;
    };
    assert.deepEqual(answers([one(50), one(90)], ONE_WAY), ['no-difference']);
    assert.deepEqual(answers([one(50), one(400)], ONE_WAY), ['worse']);
    const compared = figure([one(50), one(90)], ONE_WAY);
    assert.equal(answerText(compared, 1), 'no difference');
    assert.equal(comparedRow(compared, 1).at(-1), '2 times as much');
  });

  it('a difference that the calibration does not vouch for is none, however sure', () => {
    const before = latencyRuns('before', 50, 50, 50);
    assert.deepEqual(answers([before, latencyRuns('after', 50.9, 50.9, 50.9)], ONE_WAY), ['no-difference']);
    assert.deepEqual(answers([before, latencyRuns('after', 51.1, 51.1, 51.1)], ONE_WAY), ['worse']);
    const fast = latencyRuns('before', 2, 2, 2);
    assert.deepEqual(answers([fast, latencyRuns('after', 2.9, 2.9, 2.9)], ONE_WAY), ['no-difference']);
    assert.deepEqual(answers([fast, latencyRuns('after', 3.1, 3.1, 3.1)], ONE_WAY), ['worse']);
  });

  it('what is missing is counted: one run each is enough, and nothing outweighs it', () => {
    const lost = (...copies: number[]): RunSet => ({
      name: '',
      results: copies.map((missing) =>
        run(({ delivery }) => {
          if (!delivery) return;
          delivery.received = delivery.expected - missing;
          delivery.coverage = delivery.received / delivery.expected;
        }),
      ),
    });
    const failed = (...counts: number[]): RunSet => ({
      name: '',
      results: counts.map((count) => run(({ connections }) => Object.assign(connections, { failed: count }))),
    });
    assert.deepEqual(answers([lost(0), lost(1)], 'delivery.coverage'), ['worse']);
    assert.deepEqual(answers([lost(1), lost(0)], 'delivery.coverage'), ['better']);
    assert.deepEqual(answers([failed(0), failed(400)], 'connections.failed'), ['worse']);
    assert.deepEqual(answers([failed(0, 50), failed(400)], 'connections.failed'), ['worse'], 'whatever the spread');
    assert.deepEqual(answers([failed(3), failed(4)], 'connections.failed'), ['no-difference'], 'counts vary');
    assert.deepEqual(answers([failed(2, 9), failed(10)], 'connections.failed'), ['no-difference']);
    assert.deepEqual(answers([failed(0, 0), failed(0, 0)], 'connections.failed'), ['no-difference']);
    const halves = run(({ connections }) => Object.assign(connections, { peak: connections.target / 2 }));
    assert.deepEqual(answers([failed(0), { name: '', results: [halves] }], 'connections.peak'), ['worse']);
    const twice = run(({ delivery }) => Object.assign(delivery ?? {}, { duplicates: 1 }));
    assert.deepEqual(answers([failed(0), { name: '', results: [twice] }], 'delivery.duplicates'), ['worse']);
  });

  it('says what difference would have been seen', () => {
    const [a, b] = [latencyRuns('a', 49, 50, 51), latencyRuns('b', 49, 50, 51)];
    const [difference] = figure([a, b], ONE_WAY).differences;
    const half = ((difference?.high ?? 0) - (difference?.low ?? 0)) / 2;
    assert.ok((difference?.detectable ?? 0) > half);
    assert.ok((difference?.detectable ?? 0) < 2 * half);
    // Runs that do not vary: by the accuracy alone.
    const [same] = figure([latencyRuns('a', 200, 200), latencyRuns('b', 200, 200)], ONE_WAY).differences;
    assert.equal(same?.detectable, 4);
  });

  it('says so beside the answer, also where only a multiple would have been seen', () => {
    const shown = (...values: number[]) =>
      String(comparedRow(figure([latencyRuns('a', ...values), latencyRuns('b', ...values)], ONE_WAY), 1).at(-1));
    assert.equal(shown(200, 200), '± 2 %');
    assert.match(shown(10, 30), /^\d+ times as much$/);
  });

  it('the primary figures have narrower intervals than others', () => {
    const both = (name: string, ...values: number[]): RunSet => ({
      name,
      results: values.map((value) =>
        run(({ latency }) => Object.assign(latency.oneWayMs ?? {}, { p50: value, p99: value })),
      ),
    });
    const sets = [both('a', 40, 50, 60), both('b', 45, 55, 65)];
    const high = (path: string) => figure(sets, path).differences[0]?.high ?? 0;
    assert.ok(high('latency.oneWayMs.p99') < high(ONE_WAY));
  });

  it('the more figures are compared, the wider every interval: all of them hold together', () => {
    const [a, b] = [latencyRuns('a', 40, 50, 60), latencyRuns('b', 45, 55, 65)];
    const width = (sets: RunSet[]) => {
      const [difference] = figure(sets, ONE_WAY).differences;
      return (difference?.high ?? 0) - (difference?.low ?? 0);
    };
    // Welch: 10 × √(2/3) = 8.165 with 4 degrees; t(0.95, 4) = 2.776
    const alone = 2 * 2.776 * 8.165;
    assert.ok(width([a, b]) > 1.5 * alone, `${width([a, b])}`);
    assert.ok(width([a, b, b]) > width([a, b]));
  });

  it('an INVALID run gives no figures', () => {
    const invalid = latencyRuns('invalid', 1, 1, 1);
    for (const { verdict } of invalid.results) verdict.status = 'INVALID';
    const comparison = compare([latencyRuns('a', 40, 50, 60), invalid]);
    assert.equal(comparison.sets[1]?.usable, 0);
    for (const { spreads, differences } of comparison.figures.filter(({ path }) => path !== USABLE_RUNS)) {
      assert.equal(spreads[1], null);
      assert.deepEqual(
        differences.map(({ answer, value }) => [answer, value]),
        [['cannot-tell', null]],
      );
    }
  });

  it('of the workers PSS is compared, and RSS where there is no PSS', () => {
    const paths = (sets: RunSet[]) => compare(sets).figures.map(({ path }) => path);
    assert.ok(!paths([latencyRuns('a', 1), latencyRuns('b', 1)]).includes(WORKER.replace('Pss', 'Rss')));
    const withoutPss = { name: '', results: [run(({ memory }) => delete memory.perConnectionBytes.workerPss)] };
    assert.ok(paths([withoutPss, withoutPss]).includes(WORKER.replace('Pss', 'Rss')));
  });
});

describe('the headline', () => {
  const headline = (a: RunSet, b: RunSet) => headlineOf(compare([a, b]), 1);
  const failing = (count: number): RunSet => ({
    name: '',
    results: [run(({ connections }) => Object.assign(connections, { failed: count }))],
  });

  it('names what is worse, also of single runs', () => {
    const { answer, text } = headline(failing(0), failing(400));
    assert.equal(answer, 'worse');
    assert.match(text, /^worse in Connections failed; inconclusive for \d+ figures: too few runs$/);
  });

  it('of single runs without a difference is that nobody can tell', () => {
    const { answer, text } = headline(failing(0), failing(0));
    assert.equal(answer, 'cannot-tell');
    assert.match(text, /^inconclusive for \d+ figures: too few runs; no difference seen in the others$/);
  });

  it('of series is what they show', () => {
    const [a, b] = [latencyRuns('a', 50, 51, 49, 50, 50), latencyRuns('b', 30, 31, 29, 30, 30)];
    assert.deepEqual(headline(a, a), { answer: 'no-difference', text: 'no difference seen' });
    assert.deepEqual(headline(a, b), { answer: 'better', text: 'better in One way p50' });
  });

  it('of runs that are INVALID compares nothing', () => {
    const invalid = failing(0);
    for (const { verdict } of invalid.results) verdict.status = 'INVALID';
    assert.deepEqual(headline(failing(0), invalid), {
      answer: 'cannot-tell',
      text: 'inconclusive: no usable measurement (INVALID)',
    });
  });
});

describe('runs that left no figures', () => {
  const side = (valid: number, invalid: number, lost = 0): RunSet => ({
    name: '',
    results: [
      ...Array.from({ length: valid }, () => run()),
      ...Array.from({ length: invalid }, () => run(({ verdict }) => Object.assign(verdict, { status: 'INVALID' }))),
    ],
    lost,
  });
  const CASES: [a: RunSet, b: RunSet, answer: string, found: RegExp | undefined][] = [
    [side(5, 0), side(1, 4), 'worse', /^worse in Usable runs/],
    [side(5, 0), side(1, 0, 4), 'worse', /^worse in Usable runs/],
    [side(5, 0), side(0, 5), 'worse', /^worse in Usable runs/],
    [side(1, 4), side(5, 0), 'better', /^better in Usable runs/],
    [side(5, 0), side(4, 1), 'cannot-tell', /^0 of 5 and 1 of 5 runs without figures/],
    [side(1, 0), side(0, 1), 'cannot-tell', /^inconclusive: no usable measurement/],
    [side(4, 1), side(4, 0, 1), 'no-difference', /^no difference seen$/],
    [side(5, 0), side(5, 0), 'no-difference', undefined],
  ];
  for (const [a, b, answer, found] of CASES) {
    it(`${JSON.stringify(compare([a, b]).sets.map(({ usable, made }) => [usable, made]))} is ${answer}`, () => {
      const comparison = compare([a, b]);
      const headline = headlineOf(comparison, 1);
      assert.equal(headline.answer, answer, headline.text);
      assert.equal(comparison.figures[0]?.path === USABLE_RUNS, found !== undefined);
      if (found) assert.match(headline.text, found);
    });
  }
});

describe('every counted figure', () => {
  const busy = (): Result => ({ ...resultWithMessages(), fault: plannedFault() });
  const spoil: Record<string, (result: Result) => void> = {
    'connections.peak': ({ connections }) => (connections.peak = 1),
    'connections.failed': ({ connections }) => (connections.failed = 400),
    'delivery.coverage': ({ delivery }) => Object.assign(delivery ?? {}, { received: 1 }),
    'delivery.duplicates': ({ delivery }) => Object.assign(delivery ?? {}, { duplicates: 400 }),
    'fault.broadcasts.missed': ({ fault }) => Object.assign(fault?.broadcasts ?? {}, { missed: 1e6 }),
    'messages.answered': ({ messages }) => Object.assign(messages ?? {}, { acknowledged: 1 }),
  };
  for (const { path } of FIGURES.filter(isCounted)) {
    it(`${path} of single runs is judged, and missing on one side it is named`, () => {
      const [sound, spoilt] = [busy(), busy()];
      spoil[path]?.(spoilt);
      const set = (result: Result): RunSet => ({ name: '', results: [result] });
      assert.deepEqual(answers([set(sound), set(spoilt)], path), ['worse']);
      assert.deepEqual(answers([set(spoilt), set(sound)], path), ['better']);
    });
  }

  it('that only one side has makes the answer inconclusive, and so does one of those that decide', () => {
    const without = run((result) => Object.assign(result, { delivery: null }));
    const repeated = (result: Result): RunSet => ({ name: '', results: [result, result, result] });
    const { answer, text } = headlineOf(compare([repeated(run()), repeated(without)]), 1);
    assert.equal(answer, 'cannot-tell');
    assert.match(text, /^not measured in B: Delivered, Duplicate copies/);
  });
});

describe('what else differs', () => {
  const differing = (change: (result: Result) => void) =>
    compare([
      { name: 'a', results: [run()] },
      { name: 'b', results: [run(change)] },
    ]).mismatches;

  it('nothing of two equal runs', () => {
    assert.deepEqual(
      differing(({ run: it, environment }) => {
        it.id = 'another';
        environment.configHash = '01';
        environment.settings.results = 'elsewhere';
      }),
      [],
    );
  });

  it('is told from what is perhaps the very change one looks at', () => {
    assert.deepEqual(
      differing(({ connections, environment, run: it }) => {
        connections.target = 10_000;
        environment.cpu = 'another processor';
        environment.kernel = 'Linux 6.2';
        environment.settings.broadcasts = { count: 20 };
        environment.settings.workers = 4;
        it.target = 'http://127.0.0.1:9090';
      }),
      [
        { aspect: 'load', name: 'connections', values: ['5000', '10000'] },
        { aspect: 'deployment', name: 'target', values: ['http://127.0.0.1:8080', 'http://127.0.0.1:9090'] },
        { aspect: 'machine', name: 'cpu', values: ['a processor', 'another processor'] },
        { aspect: 'system', name: 'kernel', values: ['Linux 6.1', 'Linux 6.2'] },
        { aspect: 'load', name: 'broadcasts.count', values: ['not set', '20'] },
        { aspect: 'deployment', name: 'workers', values: ['not set', '4'] },
      ],
    );
  });
});

describe('servers that differ', () => {
  const differing = (change: (server: NonNullable<Result['environment']['server']>) => void) =>
    compare([
      { name: 'a', results: [run()] },
      { name: 'b', results: [run(({ environment }) => environment.server && change(environment.server))] },
    ]).mismatches;

  it('are listed by name, tuning and option', () => {
    assert.deepEqual(
      differing((server) => {
        server.kind = 'untuned';
        server.tunings = { ...server.tunings, dropRequest: 'off' };
        server.options = { ...server.options, nodeFlags: '--max-semi-space-size=1' };
      }),
      [
        { aspect: 'deployment', name: 'server', values: ['bundled server, tuned', 'bundled server, untuned'] },
        { aspect: 'deployment', name: "server's tuning dropRequest", values: ['on', 'off'] },
        { aspect: 'deployment', name: "server's nodeFlags", values: ['none', '--max-semi-space-size=1'] },
      ],
    );
  });

  it('are one line where one of them is not known', () => {
    const older = run(({ environment }) => {
      environment.server = null;
    });
    const { mismatches } = compare([
      { name: 'a', results: [older] },
      { name: 'b', results: [run()] },
    ]);
    assert.deepEqual(mismatches, [
      { aspect: 'deployment', name: 'server', values: ['not known', 'bundled server, tuned'] },
    ]);
  });
});

describe('lines of one run each', () => {
  it('are compared by the interval of their difference', () => {
    assert.deepEqual(answers([slopeRun(10_000, 300), slopeRun(10_400, 300)], WORKER), ['no-difference']);
    const [difference] = figure([slopeRun(10_000, 300), slopeRun(20_000, 300)], WORKER).differences;
    assert.equal(difference?.noise, 'fit');
    assert.equal(difference.answer, 'worse');
    // Nothing in one run tells how much the next line differs, however well it fits.
    assert.deepEqual(answers([slopeRun(10_000, 10), slopeRun(10_900, 10)], WORKER), ['no-difference']);
    assert.deepEqual(answers([slopeRun(10_000, 10), slopeRun(11_100, 10)], WORKER), ['worse']);
    // Each: 300 ÷ t(0.95, 3) = 300 ÷ 3.182 = 94.28. Together √2 × 94.28 = 133.3, with 6 degrees.
    assert.ok((difference.high ?? 0) - 10_000 > 2.447 * 133.3);
  });
});

describe('a comparison as a report', () => {
  const one = (name: string, change: (result: Result) => void = () => {}): RunSet => ({ name, results: [run(change)] });
  const options = { color: false, width: 80 };

  it('has the answer first, and each difference with its sign', () => {
    const document = comparisonDocument(compare([slopeRun(15_000, 300), slopeRun(18_000, 300)]));
    assert.equal(document.answer.tone, 'bad');
    const text = renderConsole(document, options);
    assert.match(text, /^B against A: worse in Workers PSS per connection/);
    assert.match(text, /Workers PSS per connection, KB +14\.6 +17\.6 +▼ WORSE +\+20 ± [\d.]+ %/);
    assert.match(text, /B against A\n {2}Figure .*\n {2}Workers PSS/, 'differences come first');
    assert.match(renderHtml(document), /class="worse"><span aria-hidden="true">▼ <\/span>WORSE/);
  });

  it('of different loads names what differs in a line, and compares no counts of connections', () => {
    const document = comparisonDocument(
      compare([
        one('1k'),
        one('5k', ({ run: it, connections, environment }) => {
          Object.assign(it, { scenario: '10k' });
          Object.assign(connections, { target: 10_000, peak: 10_000, held: 10_000 });
          environment.settings = Object.fromEntries(
            Array.from({ length: 30 }, (_, index) => [`option${index}`, index]),
          );
        }),
      ]),
    );
    const text = renderConsole(document, options);
    const lines = text.split('\n').filter((line) => line.includes('different load'));
    assert.equal(lines.length, 1);
    assert.match(text, /different load: scenario scenarios\/5k\.yml \/ 10k; .*and \d+\s+other settings/s);
    assert.match(text, /The loads differ, so only what is per connection or per message can be\s+compared/);
    assert.doesNotMatch(text, /Peak connections/);
    assert.match(renderHtml(document), /option29/, 'the page has them all');
  });

  it('lets no text become markup', () => {
    const other = one('b', ({ environment }) => Object.assign(environment, { kernel: '<img src=x>' }));
    const page = renderHtml(comparisonDocument(compare([one('<script>a</script>'), other])));
    assert.match(page, /kernel<\/th>.*&lt;img src=x&gt;/);
    assert.equal(page.match(/<img/), null);
    assert.equal(page.match(/<script/g)?.length, 1);
    assert.doesNotMatch(page, /NaN|undefined/);
  });

  it('a series of two runs does not tell an interval, and one of three does', () => {
    const series = (...values: number[]) => {
      const results = values.map((p50) => latencyRuns('', p50).results[0]);
      const plan = { scenario: '5k', vary: {}, servers: {}, except: [], repeat: values.length, seed: 1 };
      const measured = results.map((result) => ({ levels: {}, result }));
      const study = { runs: results.map(() => ({ status: 'VALID' })), plan, ...summarize(plan, measured) };
      return renderConsole(seriesDocument(study as unknown as Study), options);
    };
    assert.match(series(10, 12), /11\.0 +1\.41 +10\.0 +12\.0/);
    assert.match(series(10, 12), /With two\s+runs, an interval/);
    assert.match(series(10, 12, 11), /11\.0 ± 23 % +1\.00 +10\.0 +12\.0/);
  });
});
