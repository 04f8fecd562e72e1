/** Workers, rooms and causes have names that others choose, such as those of JavaScript's own properties. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Account, Accounts } from '../../../plugin/fleet/accounts.ts';
import { Connection } from '../../../plugin/fleet/process/connections/connection.ts';
import { Counts } from '../../../plugin/fleet/process/counts/counts.ts';
import { connectionFigures } from '../../../plugin/result/connections/connections.ts';
import { limits } from '../../../plugin/result/reasons/limits.ts';
import { serverDescription } from '../../../plugin/result/server-description.ts';
import { FlowError } from '../../../plugin/virtual-user/flow-error.ts';
import { countFailure, newTally } from '../../../plugin/virtual-user/tally.ts';
import type { FailureCode } from '../../../protocol/codes/failure-codes.ts';
import { sumCounts } from '../../../protocol/sum-counts.ts';
import { measurements, snapshot } from '../../helpers/measurements.ts';
import { perfectResult } from '../../helpers/results.ts';
import { found } from '../../helpers/verdict.ts';

const NAMES = ['constructor', 'toString', '__proto__'];

/** As `{name: 2}`, also for `__proto__`, which an object literal would take for its prototype. */
const twoOf = (name: string): Record<string, number> => Object.fromEntries([[name, 2]]);

for (const name of NAMES) {
  describe(`a name such as ${name}`, () => {
    it('counts as any other in a fleet process', () => {
      const counts = new Counts();
      for (const id of [1, 2]) counts.assign(new Connection(id, false), name, true);
      assert.deepEqual(Object.entries(structuredClone(counts.perWorker)), [[name, 2]]);
      const connection = new Connection(3, false);
      counts.assign(connection, name, false);
      counts.assign(connection, '', false);
      assert.deepEqual(Object.entries(counts.perSessionPrefix), []);
    });

    it('is why a connection ended', () => {
      const accounts = new Accounts();
      const account: Account = { state: 'idle', cause: '' };
      accounts.begin(account);
      accounts.opened(account);
      accounts.ended(account, name);
      const {
        disconnects,
        accounts: { ended },
      } = accounts.read();
      assert.deepEqual([disconnects, ended].map(Object.entries), [[[name, 1]], [[name, 1]]]);
    });

    it('is a sum of numbers', () => {
      assert.deepEqual(Object.entries(sumCounts([twoOf(name), twoOf(name)])), [[name, 4]]);
    });

    it('is a failure of virtual users, with its example', () => {
      const tally = newTally();
      for (let n = 0; n < 2; n++)
        countFailure({ tally, meter: { error: () => {} } }, new FlowError(name as FailureCode, 'why'));
      const failed = { failures: { ...tally.failures }, failureExamples: { ...tally.examples } };
      const figures = connectionFigures(measurements({ snapshots: [snapshot(failed), snapshot(failed)] }));
      assert.deepEqual(Object.entries(figures.failures), [[name, 4]]);
      assert.deepEqual(Object.entries(figures.failureExamples), [[name, 'why']]);
    });

    it('is a worker, and a cause of failures that names no limit', () => {
      const one = snapshot({ perWorker: twoOf(name), failures: twoOf(name) });
      const measured = measurements({ targetConnections: 2, snapshots: [one] });
      const connections = connectionFigures(measured);
      assert.deepEqual(Object.entries(connections.perWorker), [[name, 2]]);
      assert.deepEqual(found(limits, { ...perfectResult(), connections }, measured), []);
    });

    it('is an option of a server, which another worker does not set', () => {
      const server = (options: object) => ({ server: { kind: 'own', tunings: {}, options } }) as never;
      const described = serverDescription([server(Object.fromEntries([['constructor', 'on']])), server({})]);
      assert.deepEqual(described?.options, { constructor: 'on or not set' });
    });
  });
}
