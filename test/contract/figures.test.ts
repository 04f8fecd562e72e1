/**
 * Checks that each figure is declared once, at its key in the result schema, and that all other places use this
 * declaration.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { LIVE_METRICS } from '../../plugin/live/prometheus-text.ts';
import { runMetrics } from '../../plugin/result/run-metrics.ts';
import {
  DECLARED_FIGURES,
  type DeclaredFigure,
  declaredFigureAt,
  figureUnit,
  RESULT_KEYS,
} from '../../protocol/result/figure-paths.ts';
import type { Result } from '../../protocol/result/result.ts';
import { runAnswerOf } from '../../report/answer/answer.ts';
import { compareSets } from '../../report/compare/compare.ts';
import { plannedFault } from '../helpers/planned-fault.ts';
import { perfectResult, resultWithMessages } from '../helpers/results.ts';
import { setOf } from '../helpers/run-sets.ts';
import { waves } from '../helpers/waves.ts';

const RESULTS: Record<string, Result> = {
  broadcasts: perfectResult(),
  'messages of clients': resultWithMessages(),
  'a planned fault': { ...perfectResult(), fault: plannedFault() },
  'waves that leak': waves(),
};

const declared = (key: string): DeclaredFigure => {
  const found = declaredFigureAt(key);
  assert.ok(found, `no figure is declared at ${key}`);
  return found.figure;
};

describe('declared figures', () => {
  for (const [name, result] of Object.entries(RESULTS)) {
    it(`every number with a unit in the answer of ${name} is in the table of figures`, () => {
      const figures = runAnswerOf(result).lines.flatMap(({ figure }) => figure ?? []);
      assert.ok(figures.length > 0);
      for (const { key = '', value } of figures)
        if (typeof value === 'object') assert.equal(value.quantity, declared(key).quantity, key);
    });
  }

  it('every number in a comparison is in the table of figures', () => {
    for (const result of Object.values(RESULTS))
      for (const { path, quantity } of compareSets([setOf(result), setOf(result)]).figures)
        assert.equal(quantity, declared(path).quantity, path);
  });

  it('each threshold has the same unit as its figure in the table of figures', () => {
    for (const { path, unit } of runMetrics()) assert.equal(unit, figureUnit(declared(path)), path);
  });

  it('each Prometheus series except the stage of the run is in the table of figures', () => {
    const known = new Set(DECLARED_FIGURES.flatMap(({ live }) => (live ? `socketio_capacity_${live.series}` : [])));
    const unknown = LIVE_METRICS.filter(({ name }) => !known.has(name)).map(({ name }) => name);
    assert.deepEqual(unknown, ['socketio_capacity_stage']);
  });

  it('each key of the result that has an interval is in the table of figures', () => {
    for (const { path } of RESULT_KEYS.filter(({ path }) => path.endsWith('.low95'))) {
      const intervalPath = path.slice(0, -'.low95'.length);
      const isDeclared = intervalPath.includes('.intervals.')
        ? declaredFigureAt(intervalPath.replace('.intervals.', '.'))
        : DECLARED_FIGURES.some((figure) => figure.path.replace(/\.\w+$/, '') === intervalPath);
      assert.ok(isDeclared, `${intervalPath} has an interval, and declares no figure`);
    }
  });
});

describe('figures', () => {
  const repeated = (names: string[]) => names.filter((name, index) => names.indexOf(name) !== index);

  it('no two figures share a title, a threshold name or a Prometheus series', () => {
    const series = DECLARED_FIGURES.flatMap(({ live }) => (live ? JSON.stringify([live.series, live.labels]) : []));
    assert.deepEqual(repeated(DECLARED_FIGURES.flatMap(({ title }) => title ?? [])), []);
    assert.deepEqual(repeated(runMetrics().map(({ name }) => name)), []);
    assert.deepEqual(repeated(series), []);
  });

  it('names of thresholds and Prometheus series are written only in the table of figures', () => {
    const thresholds = runMetrics().filter(({ name, path }) => name !== path);
    const names = [...thresholds, ...LIVE_METRICS].map(({ name }) => name);
    const files = globSync('{plugin,protocol,report,docs,server}/**/*.{ts,js}').filter(
      (path) => !/node_modules|\/dist\/|^protocol\/result\//.test(path),
    );
    assert.ok(files.length > 500);
    const found = files.flatMap((file) => {
      const text = readFileSync(file, 'utf8');
      const second = names.filter((name) => text.includes(`'${name}'`));
      return [...second, ...(text.match(/\bquantity: '\w+'/g) ?? [])].map((match) => `${file}: ${match}`);
    });
    // These strings look like keys of the result, but are not: metrics that replace an expectation, and internal keys
    // of comparisons.
    assert.deepEqual(found.sort(), [
      'protocol/codes/expectations.ts: connections.rate',
      'protocol/codes/expectations.ts: socketio.delivery.coverage',
      'protocol/codes/expectations.ts: socketio.delivery.duplicates',
      'protocol/codes/expectations.ts: socketio.delivery.received',
      'protocol/codes/expectations.ts: socketio.fault.not_reconnected',
      'protocol/codes/expectations.ts: socketio.messages.acknowledged',
      'protocol/codes/expectations.ts: socketio.messages.answered',
      "report/compare/compare.ts: quantity: 'share'",
      ...['kilobytes', 'microseconds', 'milliseconds'].map((name) => `report/figures/places.ts: quantity: '${name}'`),
    ]);
  });
});
