/** Tests `npx socketio-capacity compare | check | report` on existing results, as a user or a CI job runs it. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { REPORT_FILES } from '../../plugin/result/report-files.ts';
import type { LevelCombination, Study } from '../../protocol/documents/study-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Comparison } from '../../report/compare/compare.ts';
import { cli } from '../helpers/cli.ts';
import { assertEach } from '../helpers/columns.ts';
import { finding } from '../helpers/findings.ts';
import { perfectResult } from '../helpers/results.ts';
import { measuredStudy } from '../helpers/studies.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

function writeRun(parent: string, name: string, change: (result: Result) => unknown = () => {}): void {
  const result = perfectResult();
  change(result);
  mkdirSync(join(parent, name), { recursive: true });
  writeFileSync(join(parent, name, 'result.json'), JSON.stringify(result));
}

/** Writes a series whose runs have these one-way p50s. If there are several settings, runs alternate between them. */
function writeSeries(parent: string, name: string, p50s: number[], vary: Study['plan']['vary'] = {}): void {
  const [[key = '', values = ['']] = []] = Object.entries(vary);
  const { length: sides } = values;
  const runs = p50s.map((p50, index) => {
    const result = perfectResult();
    Object.assign(result.latency.oneWayMs ?? {}, { p50 });
    const levels: LevelCombination = key === '' ? {} : { [key]: values[index % sides] as string };
    return { levels, result };
  });
  const { study } = measuredStudy(name, { scenario: '5k.yml', vary, repeat: p50s.length / sides }, runs);
  for (const [index, { result }] of study.runs.entries()) {
    writeRun(join(parent, name), dirname(result ?? ''), (written) => Object.assign(written, runs[index]?.result));
  }
  writeFileSync(join(parent, name, 'study.json'), JSON.stringify(study));
}

describe('npx socketio-capacity', { concurrency: 2 }, () => {
  for (const [args, code, message = /./] of [
    ['--help', 0],
    ['study --help', 0],
    ['repeat a.yml', 2, /^error: `repeat` is now `npx socketio-capacity study .*`$/],
    ['baseline check a', 2, /^error: `baseline` is now `npx socketio-capacity compare .*--against <file>`$/],
    ['--version', 0],
    ['', 2],
    ['compar', 2],
    ['compare a b --jsno', 2, /unknown option '--jsno'\n\(Did you mean --json\?\)\n.*--help/],
    ['doctor nowhere.yml', 2, /^FILE_UNREADABLE: nowhere\.yml .*\n {2}cause: ENOENT.*\n {2}fix: /],
    ['study nowhere.yml --times 0 --detect 20 --vary A=1', 2, /--vary.*NAME=a,b[\s\S]*--times: [\s\S]*--detect: .*20%/],
    ['compare a nowhere', 2],
    ['report nowhere', 2],
  ] as [string, number, RegExp?][]) {
    it(`"socketio-capacity ${args}" exits with ${code}`, async (t) => {
      const found = await cli(tempFolder(t), ...args.split(' ').filter(Boolean));
      assert.equal(found.code, code);
      assert.match(found.said, message);
    });
  }

  it('the stack command refuses all wrong options at once', async (t) => {
    const cases: [args: string, ...messages: RegExp[]][] = [
      ['up --port many --profile half', /--port/, /--profile/, /stack up --help/],
      ['up --tls --profile embedded', /--tls/],
      ['up --redis-nodes 2', /--redis-nodes: .* 3 to 16/],
      ['up --redis-nodes 3 --profile embedded', /--redis-nodes/],
      ['up --bogus', /--bogus/],
      ['sideways', /sideways/],
    ];
    for (const [args, ...messages] of cases) {
      const { code, stderr } = await cli(tempFolder(t), 'stack', ...args.split(' '));
      assert.equal(code, 2, args);
      for (const message of messages) assert.match(stderr, message);
    }
  });

  it('check exits with the code of the thresholds, or of the run’s outcome without thresholds', async (t) => {
    const cwd = tempFolder(t);
    writeRun(cwd, 'good');
    const explaining = { ...finding('MEMORY_GROWS'), explains: ['MEMORY_UNEXPLAINED'] };
    writeRun(cwd, 'doubtful', (result) => {
      Object.assign(result, { verdict: { status: 'SUSPECT' }, findings: [explaining, finding('MEMORY_UNEXPLAINED')] });
    });
    writeRun(cwd, 'useless', ({ verdict }) => Object.assign(verdict, { status: 'INVALID' }));
    for (const [run, thresholds, code] of [
      ['good', ['connections.failed = 0', 'delivery.coverage >= 1'], 0],
      ['good', ['coverage > 1', 'latency'], 2],
      ['doubtful', ['connections.peak > 5000', 'connections.failed < 1'], 1],
      ['doubtful', ['connections.peak >= 5000'], 3],
      ['doubtful', [], 3],
      ['useless', ['connections.peak >= 5000'], 4],
    ] as const) {
      assert.equal((await cli(cwd, 'check', run, ...thresholds)).code, code, `${run} ${thresholds}`);
    }
    assert.match((await cli(cwd, 'check', 'doubtful')).said, /MEMORY_GROWS: .*\n {4}explains: .*\n {4}fix: /);
    const missed = ['doubtful', 'connections.peak > 5000', 'connections.failed < 1'];
    const { status, thresholds, verdict } = JSON.parse((await cli(cwd, 'check', ...missed, '--json')).stdout);
    assert.deepEqual([status, verdict.status], ['FAILED', 'SUSPECT']);
    assertEach(thresholds as { met: boolean }[], ({ met }) => met, [false, true]);
    const { said } = await cli(cwd, 'check', 'good', 'coverage > 1', 'latency');
    assert.match(said, /CONFIG_INVALID[\s\S]*delivery\.coverage[\s\S]*"latency"/);
  });

  it('compare reports differences of two series, as text and as JSON', async (t) => {
    const cwd = tempFolder(t);
    writeSeries(cwd, 'before', [50, 51, 49]);
    writeSeries(cwd, 'after', [90, 91, 89]);
    const { code, said } = await cli(cwd, 'compare', 'before', 'after/study.json');
    assert.equal(code, 1, said);
    assert.match(said, /^B against A: worse in One way p50\n/);
    assert.equal(said.includes('\u001b'), false);
    const { figures } = JSON.parse((await cli(cwd, 'compare', 'before', 'after', '--json')).stdout) as Comparison;
    const answerOf = (key: string) => figures.find(({ path }) => path === key)?.differences[0]?.answer;
    assert.deepEqual(
      ['p50', 'p99'].map((p) => answerOf(`latency.oneWayMs.${p}`)),
      ['worse', 'no-difference'],
    );
  });

  it('compare uses the two settings of a series as its two sides, and accepts the name of each', async (t) => {
    const cwd = tempFolder(t);
    writeSeries(cwd, 'both', [50, 90, 51, 91, 49, 89], { TLS: ['off', 'on'] });
    writeSeries(cwd, 'third', [50, 51, 49]);
    for (const [args, code, expectedText] of [
      ['compare both', 1, /^B against A: worse in One way p50\n[\s\S]*both:A \(TLS=off\)/],
      ['compare third both:A', 0, /^B against A: no difference\n/],
      ['compare both --save main.json', 2, /^CONFIG_INVALID: [\s\S]*both:A[\s\S]*both:B/],
      ['compare both:B --save main.json', 0, /^Saved as "main" in main\.json: 3 runs\.$/],
      ['compare both:A --against main.json', 0, /^B against A: better in One way p50\n/],
      ['compare third both:C', 2, /^CONFIG_INVALID: /],
      ['compare third', 2, /^CONFIG_INVALID: /],
    ] as const) {
      const found = await cli(cwd, ...args.split(' '));
      assert.equal(found.code, code, args);
      assert.match(found.said, expectedText);
    }
  });

  it('compare tests runs against a saved baseline, with an exit code for each outcome', async (t) => {
    const cwd = tempFolder(t);
    writeSeries(cwd, 'good', [50, 51, 49, 50]);
    writeRun(cwd, 'one');
    writeRun(cwd, 'same', ({ latency }) => Object.assign(latency.oneWayMs ?? {}, { p50: 50.5 }));
    writeRun(cwd, 'renamed', ({ run }) => (run.scenario = 'another'));
    writeRun(cwd, 'slow', ({ latency }) => Object.assign(latency.oneWayMs ?? {}, { p50: 200 }));
    writeRun(cwd, 'half', ({ connections }) => Object.assign(connections, { failed: 400 }));
    writeRun(cwd, 'larger', ({ connections }) => (connections.target = 10_000));
    writeRun(cwd, 'broken', ({ verdict }) => (verdict.status = 'INVALID'));
    for (const [args, code, expectedText] of [
      ['same --against b.json', 2, /^BASELINE_MISSING: [\s\S]*compare <result> --save b\.json --name main/],
      ['good --save b.json', 0, /"main"/],
      ['one --save b.json --name single', 0, /"single" in b\.json: 1 run\./],
      ['same --against b.json', 0, /^B against A: no difference[\s\S]*A: baseline "main" \(4 runs/],
      ['renamed --against b.json', 0, /^B against A: better in One way p50/],
      ['slow --against b.json', 1, /^B against A: worse in One way p50/],
      ['same slow --against b.json', 1, /^B against A: no difference[\s\S]*C against A: worse/],
      ['larger --against b.json', 2, /^BASELINE_NOT_COMPARABLE: [\s\S]* 5000, now 10000/],
      ['broken --against b.json', 4, /./],
      ['broken --save b.json', 2, /^BASELINE_INVALID/],
      ['one --save b.json --against b.json', 2, /not both/],
      ['same --against b.json --name none', 2, /main, single/],
      // A single run can show missing copies and failures, but no difference of a noisy figure.
      ['one --against b.json --name single', 5, /^B against A: inconclusive[\s\S]*study\s+<scenario>/],
      ['one --against b.json --margin 0', 2, /such as 20%/],
      ['half --against b.json --name single', 1, /worse in Connections failed/],
    ] as const) {
      const found = await cli(cwd, 'compare', ...args.split(' '));
      assert.equal(found.code, code, `${args}\n${found.said}`);
      assert.match(found.said, expectedText);
    }
    const { baselines } = JSON.parse(readFileSync(join(cwd, 'b.json'), 'utf8'));
    assert.deepEqual(baselines.main.results[0].delivery.batches, []);
    const { answer, worse } = JSON.parse((await cli(cwd, 'compare', 'slow', '--against', 'b.json', '--json')).stdout);
    assert.deepEqual([answer, worse], ['worse', ['latency.oneWayMs.p50']]);
  });

  it('report writes the report files of a run again', async (t) => {
    const cwd = tempFolder(t);
    writeRun(cwd, 'run');
    const names = REPORT_FILES.map(([name]) => name);
    const { stdout, stderr } = await cli(cwd, 'report', 'run/result.json');
    assert.equal(stdout, names.map((name) => join('run', name)).join('\n'), stderr);
    assert.deepEqual(readdirSync(join(cwd, 'run')).sort(), [...names, 'result.json'].sort());
    assert.equal((await cli(cwd, 'report', 'run', '--out', 'public/here')).code, 0);
    assert.deepEqual(readdirSync(join(cwd, 'public/here')).sort(), names.toSorted());
  });

  it('compare reports which result file is damaged', async (t) => {
    const cwd = tempFolder(t);
    writeRun(cwd, 'run');
    writeFileSync(join(cwd, 'b.json'), '{"schemaVersion": 1, "baselines": {"main": {"results": []}}}');
    const { said } = await cli(cwd, 'compare', 'run', '--against', 'b.json');
    assert.match(said, /^FILE_UNREADABLE: b\.json .*\n {2}baselines\.main\.savedAt: /);
    mkdirSync(join(cwd, 'series'));
    writeFileSync(join(cwd, 'series/study.json'), '{');
    assert.match((await cli(cwd, 'compare', 'run', 'series')).said, /^FILE_UNREADABLE: series\/study\.json/);
  });
});
