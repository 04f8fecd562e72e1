import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { type Flow, ONE_CONNECTION, type StepTable, verbOf } from '../../../plugin/script/load/flow.ts';
import { readScenarios } from '../../../plugin/script/scenarios.ts';
import { STEPS } from '../../../plugin/virtual-user/steps/index.ts';

/** What all steps that do not wait are taken to need together. */
const OTHERS = 10;

function flowOf(flow: unknown[], steps: StepTable): Flow {
  return readScenarios({ config: {}, scenarios: [{ flow }] }, steps).flows[0] as Flow;
}

describe('how long a virtual user stays', () => {
  const cases: [string, unknown[], number][] = [
    ['thinks', [{ think: 2 }, { think: '500ms' }], 2.5],
    ['thinks for a time that is not in the script', [{ think: '{{ t }}' }], Number.POSITIVE_INFINITY],
    ['holds', [{ think: 2 }, { hold: true }], Number.POSITIVE_INFINITY],
    ['waits for an event', [{ waitFor: { event: 'x' } }], Number.POSITIVE_INFINITY],
    ['goes around', [{ loop: [{ think: 2 }, { loop: [{ think: 1 }], count: 3 }], count: 4 }], 20],
    ['goes around a range', [{ loop: [{ think: 2 }], count: '1-4' }], 6],
    ['goes through a list', [{ loop: [{ think: 2 }], over: ['a', 'b', 'c'] }], 6],
    ['goes around for ever', [{ loop: [{ emit: ['x'] }] }], Number.POSITIVE_INFINITY],
    ['loops while a function returns true', [{ loop: [{ think: 1 }], whileTrue: 'f' }], Number.POSITIVE_INFINITY],
    ['never comes to its loop', [{ loop: [{ hold: true }], count: 0 }], 0],
    ['has lists in its list', [[{ think: 1 }, { think: 2 }]], 3],
  ];
  for (const [what, steps, seconds] of cases) {
    it(`that ${what}`, () => assert.equal(flowOf(steps, STEPS).staySeconds, seconds + OTHERS));
  }
});

describe('connections of a virtual user', () => {
  it('are one, unless a connect has a count, also inside loops and beside an emit', () => {
    const of = (steps: unknown[]) => flowOf(steps, STEPS).connections;
    assert.deepEqual(of([{ emit: ['x'] }, { hold: true }]), ONE_CONNECTION);
    assert.deepEqual(of([{ connect: { count: 40, ratePerSec: 10 } }]), { count: 40, ratePerSec: 10 });
    assert.deepEqual(of([{ loop: [{ connect: { count: 3 } }], count: 2 }]), { count: 3, ratePerSec: 500 });
    assert.deepEqual(of([{ emit: ['x'], connect: { count: 5 } }]), { count: 5, ratePerSec: 500 });
  });

  it('use the options of the first connect, except for templates', () => {
    const connect = { path: '/a/', auth: { token: '{{ t }}' }, extraHeaders: { a: 'b' }, query: { q: 1 } };
    const read = flowOf([{ think: 1 }, { connect }, { connect: { path: '/b/' } }], STEPS).connect;
    assert.deepEqual(read, [{}, { path: '/a/', extraHeaders: { a: 'b' }, query: { q: '1' } }]);
  });
});

it('knows a step by what the step declares: a new one needs no other place', () => {
  const nap = {
    schema: z.strictObject({ nap: z.number() }),
    staySeconds: ({ nap: hours }: { nap: number }) => hours * 3600,
    connections: () => ({ count: 7, ratePerSec: 1 }),
  } as StepTable[string];
  const flow = flowOf([{ nap: 2 }, { loop: [{ nap: 1 }], count: 2 }], { ...STEPS, nap });
  assert.equal(flow.staySeconds, 4 * 3600 + OTHERS);
  assert.equal(flow.connections.count, 7);
});

it('takes one verb for a step, and two where one may stand beside the other', () => {
  assert.equal(verbOf({ emit: ['a'], connect: true }, STEPS), 'emit');
  assert.equal(verbOf({ think: 1, jitter: 1 }, STEPS), 'think');
  for (const wrong of [{ think: 1, log: 'x' }, { nonsense: 1 }, {}, 'think', null]) {
    assert.equal(verbOf(wrong, STEPS), undefined);
  }
});
