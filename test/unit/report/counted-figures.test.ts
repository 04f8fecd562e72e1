import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { compareSets, type RunSet, USABLE_RUNS_KEY } from '../../../report/compare/compare.ts';
import { COMPARABLE_FIGURES, isCountFigure } from '../../../report/figures/figures.ts';
import { assertEach, columns } from '../../helpers/columns.ts';
import { plannedFault } from '../../helpers/planned-fault.ts';
import { resultWithMessages } from '../../helpers/results.ts';
import { answer, invalid, run, setOf } from '../../helpers/run-sets.ts';

describe('counted figures', () => {
  const degrade: Record<string, (result: Result) => unknown> = {
    'connections.peak': ({ connections }) => (connections.peak = 1),
    'connections.held': ({ connections }) => (connections.held = 1),
    'connections.failed': ({ connections }) => (connections.failed = 400),
    'connections.lost': ({ connections }) => (connections.lost = { 'transport close': 300, 'ping timeout': 100 }),
    'delivery.coverage': ({ delivery }) => Object.assign(delivery ?? {}, { received: 1 }),
    'delivery.duplicates': ({ delivery }) => Object.assign(delivery ?? {}, { duplicates: 400 }),
    'fault.broadcasts.missed': ({ fault }) => Object.assign(fault?.broadcasts ?? {}, { missed: 1e6 }),
    'messages.answered': ({ messages }) => Object.assign(messages ?? {}, { acknowledged: 1 }),
  };

  it('compares counted figures between single runs', () => {
    const busy = (): Result => ({ ...resultWithMessages(), fault: plannedFault() });
    for (const { path } of COMPARABLE_FIGURES.filter(isCountFigure)) {
      const [sound, degraded] = [busy(), busy()];
      degrade[path]?.(degraded);
      assert.equal(answer(setOf(sound), setOf(degraded), path), 'worse', path);
      assert.equal(answer(setOf(degraded), setOf(sound), path), 'better', path);
    }
  });
});

describe('usable runs', () => {
  const dead = () => invalid(setOf(run())).results[0] as Result;
  const usableOf = (...sets: RunSet[]) => compareSets(sets).figures.find(({ path }) => path === USABLE_RUNS_KEY);

  it('the number of usable runs is compared if some runs are not usable, or have no result', () => {
    const found = usableOf(setOf(run(), run(), dead(), dead()), { ...setOf(run()), lost: 3 }, setOf(run()));
    assertEach(found?.spreads, (one) => [one?.runs, one?.mean], [
      [4, 0.5],
      [4, 0.25],
      [1, 1],
    ]);
    assert.deepEqual(columns(found?.differences, 'value', 'noise'), { value: [-0.25, 0.5], noise: [null, 'none'] });
  });

  it('the number of usable runs is not compared if all are usable, or if a set has no runs', () => {
    assert.equal(usableOf(setOf(run()), setOf(run(), run())), undefined);
    assert.equal(usableOf(setOf(run(), dead()), setOf()), undefined);
    assert.equal(usableOf(), undefined);
  });

  it('the number of usable runs is compared as a share of all runs', () => {
    const { sets } = compareSets([{ ...setOf(run(), dead()), lost: 2 }, setOf(run())]);
    assert.deepEqual(columns(sets, 'statuses', 'usable', 'made'), {
      statuses: [['VALID', 'INVALID'], ['VALID']],
      usable: [1, 1],
      made: [4, 1],
    });
  });
});
