/** Tests the part of a flow that the run's own clients play. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compileArrival } from '../../../plugin/virtual-user/arrival.ts';

const [CONNECT, LOGIN, ENTER] = [{ connect: {} }, { emit: ['login', 'x'] }, { emit: ['enter', 'hall'] }];
const [THINK, SAY, HOLD] = [{ think: 2 }, { emit: ['say', 'hello'] }, { hold: true }];
const LOOP = { loop: [SAY, THINK], count: 3 };

const arrived = (flow: object[], until = {}) =>
  compileArrival({ engine: 'socketio-capacity', flow }, until).scenario.flow;

describe('the arrival in a flow whose users leave', () => {
  const cases: [string, object[], object, object[]][] = [
    ['ends before its first pause', [LOGIN, ENTER, THINK, SAY, THINK], {}, [LOGIN, ENTER]],
    ['ends before a loop', [LOGIN, LOOP], {}, [LOGIN]],
    ['continues to a delayed join', [CONNECT, THINK, ENTER, THINK, SAY], { join: 'enter' }, [CONNECT, THINK, ENTER]],
  ];
  for (const [what, flow, until, expected] of cases)
    it(`the arrival of a virtual user that leaves ${what}`, () => assert.deepEqual(arrived(flow, until), expected));
});

describe('the arrival in a flow whose users stay', () => {
  it('the arrival of a virtual user that stays includes short pauses', () => {
    assert.deepEqual(arrived([CONNECT, THINK, LOGIN, HOLD]), [CONNECT, THINK, LOGIN]);
  });
});
