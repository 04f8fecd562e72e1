import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FLOOR_LABEL, type GeneratorAndFloor, generatorColumns } from '../../../bench/client/columns.ts';
import type { MeasuredClients } from '../../../bench/client/measure-clients.ts';
import { benchRegressions, replaceSection, requireSameCpu, roundsTable } from '../../../bench/rounds.ts';

function measured(
  cpuPerConnectionUs: number,
  cpuPerMessageUs: number,
  memoryPerConnectionBytes: number,
): MeasuredClients {
  const figures = { cpuPerConnectionUs, cpuPerMessageUs, memoryPerConnectionBytes };
  return {
    ...figures,
    workerCpuUs: 100,
    mainThreadPercent: 1,
    rampSeconds: 10,
    idlePercent: 1,
    messages: 100_000,
  };
}

const variants = [FLOOR_LABEL, 'ours', 'theirs', 'failed'];
const pair = (own: MeasuredClients, floor?: MeasuredClients): GeneratorAndFloor => ({ own, floor });
const cells = (rounds: Record<string, GeneratorAndFloor>[], tls = false) =>
  roundsTable({ variants, columns: generatorColumns(tls) }, rounds);

test('compares each load generator with the bare client of its round, and shows all its measurements', () => {
  // From the second round on, the machine is half as fast.
  const [fast, slow, slower] = [measured(100, 5, 24), measured(200, 10, 24), measured(400, 20, 24)];
  const [ownPair, otherPair] = [pair(measured(300, 10, 4096), fast), pair(measured(800, 40, 8192), slow)];
  const [oursLater, theirsLater] = [pair(measured(600, 20, 5120), slow), pair(measured(1600, 80, 8192), slower)];
  const rounds = [
    { [FLOOR_LABEL]: pair(fast, fast), ours: ownPair, theirs: otherPair },
    { [FLOOR_LABEL]: pair(slow, slow), ours: oursLater, theirs: theirsLater },
  ];
  assert.deepEqual(cells(rounds), [
    [FLOOR_LABEL, '200 (100–400)', '1.00', '10.00 (5.00–20.00)', '1.00', '0.0', '1.0'],
    ['ours', '450 (300–600)', '3.00 (3.00–3.00)', '15.00 (10.00–20.00)', '2.00 (2.00–2.00)', '4.5 (4.0–5.0)', '1.0'],
    ['theirs', '1,200 (800–1,600)', '4.00 (4.00–4.00)', '60.00 (40.00–80.00)', '4.00 (4.00–4.00)', '8.0', '1.0'],
  ]);
});

test('the interval of a ratio uses the spread of all generators between rounds, or its own if larger', () => {
  const floor = measured(100, 5, 24);
  const round = (ownUs: number, otherUs: number) => ({
    [FLOOR_LABEL]: pair(floor, floor),
    ours: pair(measured(ownUs, 5, 24), floor),
    theirs: pair(measured(otherUs, 5, 24), floor),
  });
  const of = (variant: string, rounds: ReturnType<typeof round>[]) =>
    cells(rounds).find(([name]) => name === variant)?.[2];
  // Both deviate by 10 % of the mean. t of 4 degrees is 2.776, so the interval is ± 2.776 × 10 % / √3.
  const rounds = [round(180, 360), round(200, 400), round(220, 440)];
  assert.equal(of('ours', rounds), '2.00 (1.68–2.32)');
  assert.equal(of('theirs', rounds), '4.00 (3.36–4.64)');
  // A single round has no interval.
  assert.equal(of('ours', [round(200, 400)]), '2.00');
});

test('the table of a benchmark has a cell for every column, even without a bare client', () => {
  const [withoutFloor] = cells([{ ours: pair(measured(300, 10, 4096)) }]);
  assert.deepEqual(withoutFloor, ['ours', '300', '–', '10.00', '–', '4.0', '1.0']);
  const [overTls] = cells([{ ours: pair(measured(300, 10, 20_480), measured(100, 5, 10_240)) }], true);
  assert.deepEqual(overTls?.slice(-3), ['20.0', '2.00', '1.0']);
});

test('a benchmark replaces only its own section of the results page', () => {
  const page = readFileSync('docs/benchmarks.md', 'utf8');
  for (const name of ['client', 'client-tls', 'client-events', 'server']) {
    const changed = replaceSection(page, name, 'new\n');
    const [opening, closing] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`];
    assert.ok(changed.includes(`${opening}\n\nnew\n\n${closing}`), name);
    assert.equal(changed.split(opening)[0], page.split(opening)[0]);
    assert.equal(changed.split(closing)[1], page.split(closing)[1]);
  }
  assert.throws(() => replaceSection('# Benchmarks\n', 'client', 'new'));
});

test('the check of a benchmark lists rows that exceed the published figures by more than a tenth', () => {
  const published = '|-|× floor|\n|ours|1.20 (1.10–1.30)|5|\n|theirs|2.00|5|\n';
  const rows = (ours: string) => [
    ['ours', ours],
    ['theirs', '2.10 (1.50–2.70)'],
    ['new', '9.00'],
  ];
  assert.deepEqual(benchRegressions(published, rows('1.31'), 1), []);
  assert.deepEqual(benchRegressions(published, rows('1.33'), 1), ['ours: 1.33, published 1.20 (1.10–1.30)']);
});

test('the check of a benchmark is refused on another CPU than that of the published rows', () => {
  const published = '|ours|1.20|\n\n- Machine: AMD EPYC, 2 cores, 24 GiB of memory\n';
  requireSameCpu(published, 'AMD EPYC');
  assert.throws(() => requireSameCpu(published, 'Intel Xeon'), /rows are of AMD EPYC, and this is Intel Xeon/);
});
