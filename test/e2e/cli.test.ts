/** `npx socketio-capacity compare | baseline`, as a user or a CI job types them, on results that are there already. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { REPORT_FILES } from '../../plugin/result/report-files.ts';
import type { Levels, Study } from '../../protocol/documents/study.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Comparison } from '../../report/compare/compare.ts';
import { cli } from '../helpers/cli.ts';
import { perfectResult } from '../helpers/results.ts';

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'cli-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function writeRun(parent: string, name: string, change: (result: Result) => void = () => {}): void {
  const result = perfectResult();
  change(result);
  mkdirSync(join(parent, name), { recursive: true });
  writeFileSync(join(parent, name, 'result.json'), JSON.stringify(result));
}

/** Repeats whose one-way p50 is what is given; those of several settings take turns. */
function writeSeries(parent: string, name: string, p50s: number[], vary: Study['plan']['vary'] = {}): void {
  const [[key = '', values = []] = []] = Object.entries(vary);
  const sides = Math.max(1, values.length);
  const levelsOf = (index: number): Levels => (key === '' ? {} : { [key]: values[index % sides] as string });
  const series: Study = {
    ...{ schemaVersion: 2, name, title: '', scenarioHash: '', startedAt: '', planned: p50s.length },
    plan: { scenario: '5k.yml', vary, servers: {}, except: [], repeat: p50s.length / sides, seed: 1 },
    runs: p50s.map((_, index) => ({
      ...{ number: index + 1, startedAt: '', seconds: 1, exitCode: 0, status: 'VALID', problem: null },
      ...{ result: `run-${index}/result.json`, block: Math.floor(index / sides) + 1, levels: levelsOf(index) },
    })),
    combinations: [],
    differences: [],
  };
  mkdirSync(join(parent, name));
  writeFileSync(join(parent, name, 'repeat.json'), JSON.stringify(series));
  for (const [index, p50] of p50s.entries()) {
    writeRun(join(parent, name), `run-${index}`, (result) => {
      Object.assign(result.latency.oneWayMs ?? {}, { p50 });
    });
  }
}

describe('npx socketio-capacity', { concurrency: 2 }, () => {
  it('prints its help, and refuses unknown commands and options', async (t) => {
    const cwd = folder(t);
    const help = await cli(cwd, '--help');
    assert.equal(help.code, 0);
    for (const command of ['doctor', 'repeat', 'compare', 'baseline', 'report', 'stack'])
      assert.match(help.stdout, RegExp(command));
    const check = await cli(cwd, 'baseline', 'check', '--help');
    assert.equal(check.code, 0);
    assert.match(
      check.stdout,
      /Examples:[\s\S]*npx socketio-capacity baseline check[\s\S]*Exit codes:[\s\S]*1 {2}a figure is worse/,
    );
    assert.equal((await cli(cwd)).code, 2);
    assert.match((await cli(cwd, '--version')).stdout, /^\d+\.\d+\.\d+$/);
    const unknown = await cli(cwd, 'compar');
    assert.deepEqual([unknown.code, unknown.stdout], [2, '']);
    assert.match(unknown.stderr, /Did you mean compare\?/);
    assert.equal((await cli(cwd, 'compare', 'a', 'b', '--jsno')).code, 2);
    assert.equal((await cli(cwd, 'repeat', 'a.yml', '--times', '1')).code, 2);
  });

  it('check: thresholds of one’s own, told apart by exit code, and the outcome of the run without any', async (t) => {
    const cwd = folder(t);
    writeRun(cwd, 'good');
    writeRun(cwd, 'doubtful', ({ verdict }) => {
      Object.assign(verdict, {
        status: 'SUSPECT',
        reasons: [{ code: 'TARGET_NOT_REACHED', message: 'memory still grew' }],
      });
    });
    writeRun(cwd, 'useless', ({ verdict }) => Object.assign(verdict, { status: 'INVALID' }));
    const met = await cli(cwd, 'check', 'good', 'connections.failed = 0', 'delivery.coverage >= 1');
    assert.equal(met.code, 0, met.stderr);
    assert.match(
      met.stdout,
      /^ {2}met {5}connections\.failed is 0, threshold = 0\n[\s\S]*\nPassed\n {2}Measurement: VALID$/,
    );
    const missed = await cli(cwd, 'check', 'doubtful', 'connections.peak > 5000', 'connections.failed < 1', '--json');
    assert.equal(missed.code, 1);
    const { status, thresholds, verdict } = JSON.parse(missed.stdout);
    assert.deepEqual([status, verdict.status], ['FAILED', 'SUSPECT']);
    assert.deepEqual(thresholds[0], {
      name: 'connections.peak > 5000',
      met: false,
      strict: true,
      text: 'connections.peak is 5000, threshold > 5000',
    });
    const doubtful = await cli(cwd, 'check', 'doubtful', 'connections.peak >= 5000');
    assert.equal(doubtful.code, 3);
    assert.match(doubtful.stdout, /SUSPECT: passed, .*\n {2}Measurement: SUSPECT \(TARGET_NOT_REACHED\)$/);
    assert.equal((await cli(cwd, 'check', 'useless', 'connections.peak >= 5000')).code, 4);
    assert.equal((await cli(cwd, 'check', 'doubtful')).code, 3);
    const wrong = await cli(cwd, 'check', 'good', 'coverage > 1', 'latency');
    assert.deepEqual([wrong.code, wrong.stdout], [2, '']);
    assert.match(
      wrong.stderr,
      /CONFIG_INVALID[\s\S]*did you mean "delivery\.coverage"\?[\s\S]*"latency": expected a key/,
    );
  });

  it('compare: series against series, in words and as JSON', async (t) => {
    const cwd = folder(t);
    writeSeries(cwd, 'before', [50, 51, 49]);
    writeSeries(cwd, 'after', [90, 91, 89]);
    const words = await cli(cwd, 'compare', 'before', 'after/repeat.json');
    assert.equal(words.code, 0, words.stderr);
    assert.match(
      words.stdout,
      /^B against A: worse in One way p50\n[\s\S]*?\n {2}A: before \(3 runs: 3 VALID\)\n {2}B: after \(3 runs: 3 VALID\)\n/,
    );
    assert.match(words.stdout, /One way p50, ms +50\.0 +90\.0 +▼ WORSE +\+80 ± \d+ %/);
    assert.match(words.stdout, /One way p99, ms .* no difference .*± \d+ %\n/);
    assert.equal(words.stdout.includes('\u001b'), false);
    const { figures } = JSON.parse((await cli(cwd, 'compare', 'before', 'after', '--json')).stdout) as Comparison;
    assert.equal(figures.find(({ path }) => path === 'latency.oneWayMs.p50')?.differences[0]?.answer, 'worse');
  });

  it('compare and baseline: a series of two settings is two sides, of which one can be named', async (t) => {
    const cwd = folder(t);
    writeSeries(cwd, 'both', [50, 90, 51, 91, 49, 89], { TLS: ['off', 'on'] });
    writeSeries(cwd, 'third', [50, 51, 49]);
    const both = await cli(cwd, 'compare', 'both');
    assert.equal(both.code, 0, both.stderr);
    assert.match(
      both.stdout,
      /^B against A: worse in One way p50\n[\s\S]*?\n {2}A: both:A \(TLS=off\) .*\n {2}B: both:B \(TLS=on\) /,
    );
    const one = await cli(cwd, 'compare', 'third', 'both:A');
    assert.match(one.stdout, /^B against A: no difference seen\n/, one.stderr);
    const unclear = await cli(cwd, 'baseline', 'save', 'both');
    assert.equal(unclear.code, 2);
    assert.match(unclear.stderr, /^CONFIG_INVALID: both has runs of several settings\n.*\n +both:A .*\n +both:B /);
    assert.equal((await cli(cwd, 'baseline', 'save', 'both:B')).code, 0);
    assert.equal((await cli(cwd, 'baseline', 'check', 'both:A')).code, 0);
    assert.match((await cli(cwd, 'compare', 'third', 'both:C')).stderr, /^CONFIG_INVALID: both has no side C/);
    assert.match((await cli(cwd, 'compare', 'third')).stderr, /^CONFIG_INVALID: /);
  });

  it('compare and baseline: a version that mostly dies is worse, whether its runs are INVALID or leave nothing', async (t) => {
    const cwd = folder(t);
    for (const name of ['sound', 'invalid', 'crashed']) writeSeries(cwd, name, [50, 51, 49, 50, 50]);
    for (const run of [1, 2, 3, 4]) {
      writeRun(cwd, `invalid/run-${run}`, ({ verdict }) => Object.assign(verdict, { status: 'INVALID' }));
    }
    const path = join(cwd, 'crashed/repeat.json');
    const series: Study = JSON.parse(readFileSync(path, 'utf8'));
    for (const run of series.runs.slice(1)) Object.assign(run, { exitCode: 11, result: null, status: null });
    writeFileSync(path, JSON.stringify(series));
    assert.equal((await cli(cwd, 'baseline', 'save', 'sound')).code, 0);
    for (const dying of ['invalid', 'crashed']) {
      const compared = await cli(cwd, 'compare', 'sound', dying);
      assert.equal(compared.code, 1);
      assert.match(compared.stdout, /^B against A: worse in Usable runs/);
      const checked = await cli(cwd, 'baseline', 'check', dying);
      assert.equal(checked.code, 1);
      assert.match(checked.stdout, /\nWORSE than baseline "main": Usable runs/);
    }
  });

  it('compare: single runs, and what else differs', async (t) => {
    const cwd = folder(t);
    writeRun(cwd, 'a');
    writeRun(cwd, 'b', ({ environment }) => (environment.cpu = 'another processor'));
    writeRun(cwd, 'c', ({ verdict }) => (verdict.status = 'INVALID'));
    const { code, stdout } = await cli(cwd, 'compare', 'a', 'b/result.json', 'c');
    assert.equal(code, 5);
    assert.match(stdout, /^B against A: inconclusive for \d+ figures: too few runs; /);
    assert.match(stdout, /\n {2}C against A: inconclusive: no usable measurement \(INVALID\)\n/);
    assert.match(stdout, /\n {2}cpu +machine +a processor +another processor +a processor(\n|$)/);
    assert.match(stdout, /Connect time p50, ms .* inconclusive/);
    assert.match(stdout, /One way p50, ms .* no difference .* 2 times as much\n/);
    assert.match(stdout, /C: c \(1 run: INVALID; INVALID runs contribute no figures\)/);
    const missing = await cli(cwd, 'compare', 'a', 'nowhere');
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /^FILE_UNREADABLE: .*nowhere[\s\S]*fix: /);
  });

  it('baseline: saved, and checked with an exit code for each outcome', async (t) => {
    const cwd = folder(t);
    writeSeries(cwd, 'good', [50, 51, 49, 50]);
    writeRun(cwd, 'same', ({ latency }) => Object.assign(latency.oneWayMs ?? {}, { p50: 50.5 }));
    writeRun(cwd, 'slow', ({ latency }) => Object.assign(latency.oneWayMs ?? {}, { p50: 200 }));
    writeRun(cwd, 'larger', ({ connections }) => (connections.target = 10_000));
    writeRun(cwd, 'broken', ({ verdict }) => (verdict.status = 'INVALID'));

    const early = await cli(cwd, 'baseline', 'check', 'same');
    assert.equal(early.code, 2);
    assert.match(early.stderr, /^BASELINE_MISSING: .*\n {2}fix: npx socketio-capacity baseline save/);

    const saved = await cli(cwd, 'baseline', 'save', 'good');
    assert.equal(saved.code, 0, saved.stderr);
    assert.match(saved.stdout, /Saved as "main" in capacity-baseline\.json: 4 runs\./);
    const file = JSON.parse(readFileSync(join(cwd, 'capacity-baseline.json'), 'utf8'));
    assert.deepEqual(file.baselines.main.results[0].delivery.batches, []);
    assert.equal((await cli(cwd, 'baseline', 'save', 'same', '--name', 'other')).code, 0);

    const same = await cli(cwd, 'baseline', 'check', 'same');
    assert.equal(same.code, 0, same.stdout);
    assert.match(same.stdout, /\nNo figure is worse than baseline "main" beyond the noise\.$/);
    const slow = await cli(cwd, 'baseline', 'check', 'slow');
    assert.equal(slow.code, 1);
    assert.match(slow.stdout, /\nWORSE than baseline "main": One way p50\.$/);
    assert.deepEqual(JSON.parse((await cli(cwd, 'baseline', 'check', 'slow', '--json')).stdout).worse, [
      'latency.oneWayMs.p50',
    ]);
    const larger = await cli(cwd, 'baseline', 'check', 'larger');
    assert.equal(larger.code, 2);
    assert.match(larger.stderr, /^BASELINE_NOT_COMPARABLE: [\s\S]*different load: connections: 5000, now 10000/);
    assert.equal((await cli(cwd, 'baseline', 'check', 'broken')).code, 4);
    assert.match((await cli(cwd, 'baseline', 'save', 'broken')).stderr, /^BASELINE_INVALID/);
    const unnamed = await cli(cwd, 'baseline', 'check', 'same', '--name', 'none');
    assert.match(unnamed.stderr, /has no baseline "none"; it has main, other/);
  });

  it('baseline of a single run: what is missing is seen, and the rest has an exit code of its own', async (t) => {
    const cwd = folder(t);
    writeRun(cwd, 'one');
    writeRun(cwd, 'half', ({ connections }) => Object.assign(connections, { failed: 400 }));
    const saved = await cli(cwd, 'baseline', 'save', 'one');
    assert.match(saved.stdout, /It cannot tell about times, rates and CPU[\s\S]*--repeat 5$/);
    const same = await cli(cwd, 'baseline', 'check', 'one');
    assert.equal(same.code, 5);
    assert.match(same.stdout, /\nCANNOT TELL .* baseline "main": inconclusive/);
    const half = await cli(cwd, 'baseline', 'check', 'half');
    assert.equal(half.code, 1);
    assert.match(half.stdout, /^B against A: worse in Connections failed; /);
  });

  it('report: the files of a run once more', async (t) => {
    const cwd = folder(t);
    writeRun(cwd, 'run');
    const beside = await cli(cwd, 'report', 'run/result.json');
    assert.equal(beside.code, 0, beside.stderr);
    const names = REPORT_FILES.map(([name]) => name);
    assert.deepEqual(
      beside.stdout.split('\n'),
      names.map((name) => join('run', name)),
    );
    assert.deepEqual(readdirSync(join(cwd, 'run')).sort(), [...names, 'result.json'].sort());
    assert.equal((await cli(cwd, 'report', 'run', '--out', 'public/here')).code, 0);
    assert.deepEqual(readdirSync(join(cwd, 'public/here')).sort(), names.toSorted());
    assert.equal((await cli(cwd, 'report', 'nowhere')).code, 2);
  });

  it('baseline and compare name a file that is damaged', async (t) => {
    const cwd = folder(t);
    writeRun(cwd, 'run');
    writeFileSync(join(cwd, 'capacity-baseline.json'), '{"schemaVersion": 1, "baselines": {"main": {"results": []}}}');
    const damaged = await cli(cwd, 'baseline', 'check', 'run');
    assert.equal(damaged.code, 2);
    assert.match(damaged.stderr, /^FILE_UNREADABLE: capacity-baseline\.json .*\n {2}baselines\.main\.savedAt: /);
    mkdirSync(join(cwd, 'series'));
    writeFileSync(join(cwd, 'series/repeat.json'), '{');
    assert.match((await cli(cwd, 'compare', 'run', 'series')).stderr, /^FILE_UNREADABLE: series\/repeat\.json/);
  });
});
