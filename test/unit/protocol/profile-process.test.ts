import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { it } from 'node:test';
import { profileProcess } from '../../../protocol/profiles/profile-process.ts';
import { PROFILE_LIMITS } from '../../../protocol/profiles/profile-schema.ts';

it('closes the inspector session of a process whose profiler does not start', () => {
  let sessions = 0;
  class Session {
    connect() {
      sessions++;
    }
    disconnect() {
      sessions--;
    }
    post(method: string, _params?: object, callback?: (error: Error | null, answer: unknown) => void) {
      callback?.(method === 'Profiler.start' ? new Error('not possible') : null, {});
    }
  }
  const answer = profileProcess({ inspector: { Session }, fs }, PROFILE_LIMITS, 'start', 'cpu');
  assert.deepEqual([answer, sessions], [{ failure: 'not possible' }, 0]);
});

it('shortens the longest CPU samples so that all samples add up to the CPU time of the thread', () => {
  const node = (id: number, functionName: string, children: number[] = []) => ({
    id,
    callFrame: { functionName, url: '', lineNumber: 0 },
    children,
  });
  const nodes = [node(1, '(root)', [2, 3, 4]), node(2, '(idle)'), node(3, 'compute'), node(4, 'answer')];
  // The thread ran for 18 ms: 1, 3, 7 and 7 ms. The samples of 9 and 40 ms are cut to 7 ms.
  const [samples, timeDeltas] = [
    [2, 3, 3, 3, 4],
    [0, 50_000, 1000, 3000, 9000],
  ];
  const profile = { nodes, samples, timeDeltas, startTime: 0, endTime: 103_000 };
  class Session {
    connect() {}
    disconnect() {}
    post(method: string, _params?: object, callback?: (error: Error | null, answer: unknown) => void) {
      callback?.(null, method === 'Profiler.stop' ? { profile } : {});
    }
  }
  const readings = [0, 18_000_000];
  const thread = { readFileSync: () => String(readings.shift()), readdirSync: () => [] };
  const modules = { inspector: { Session }, fs: thread };
  profileProcess(modules, PROFILE_LIMITS, 'start', 'cpu');
  const taken = profileProcess(modules, PROFILE_LIMITS, 'take', 'cpu');
  const own = taken.profile?.nodes.map(({ name, self }) => [name, self]);
  assert.deepEqual(own, [
    ['(root)', 0],
    ['(idle)', 50_000],
    ['compute', 11_000],
    ['answer', 7000],
  ]);
});
