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
