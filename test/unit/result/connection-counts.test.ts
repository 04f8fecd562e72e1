/** Counts of the same connections that differ: of engine and fleet, hosts, workers and transports. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { type Changes, run, testRuns } from '../../helpers/connected-run.ts';
import { snapshot } from '../../helpers/measurements.ts';
import { fleetProcesses } from '../../helpers/verdict.ts';

describe('two counts of the same connections', () => {
  const { connecting } = snapshot();
  const timed = (count: number): Changes => ({
    snapshot: { connecting: { ...connecting, opened: { ...connecting.opened, counts: [count] } } },
  });
  const row = {
    host: 'a',
    connections: 300,
    held: 300,
    others: [] as Result['generators'][number]['others'],
  } as Result['generators'][number];
  const hosts = (...generators: Result['generators']): Changes => ({ result: { generators } });
  const other = { ...row, host: 'b', clock: null };
  const quiet = { processes: fleetProcesses([600], { answers: false }), connected: 300 };

  testRuns([
    ['of engine and fleet', { snapshot: { connected: 599 } }, ['ACCOUNTS_MISMATCH', 600, 599]],
    ['of engine and fleet, of which a process did not answer', { snapshot: quiet }, ['GENERATOR_SILENT', 'pid 100']],
    ['of engine and connect times', timed(599), ['ACCOUNTS_MISMATCH', 600, 599]],
    ['of all hosts', hosts({ ...row, clock: null }, other)],
    ['of all hosts, without one', hosts({ ...row, clock: null }), ['ACCOUNTS_MISMATCH', 'a 300']],
  ]);
});

describe('workers', () => {
  const one = [{ worker: 'w0', pid: 1, instance: 'a' }];
  const two = [...one, { worker: 'w1', pid: 2, instance: 'b' }];
  const held = (
    perWorker: Record<string, number>,
    perSessionPrefix: Record<string, number>,
    { workersAtStart = one, recovered = 0 } = {},
  ) => {
    const returns = { ...snapshot().returns, recovered };
    const measured = { workersAtStart, workersAtEnd: workersAtStart };
    const { connections, codes } = run({ snapshot: { perWorker, perSessionPrefix, returns }, measured });
    return { perWorker: connections.perWorker, codes };
  };

  it('that joins name and no control knows invalidate the run', () => {
    const perWorker = { w0: 300, w1: 300 };
    assert.deepEqual(held(perWorker, {}), { perWorker, codes: ['WORKER_URLS_WRONG'] });
  });

  it('are not made up of the session ids of other servers', () => {
    assert.deepEqual(held({}, { w0: 590, x7: 4, q: 6 }), { perWorker: { w0: 590 }, codes: [] });
  });

  it('are counted as far as they are known of all connections, also of restored sessions, which do not join again', () => {
    const counted = (named: Record<string, number>, workersAtStart: typeof one, sessions = {}) =>
      held(named, sessions, { workersAtStart, recovered: 200 }).perWorker;
    assert.deepEqual(counted({ w0: 19 }, one), { w0: 600 }, 'the only worker has all of them');
    assert.deepEqual(counted({ w0: 19 }, two), {});
    assert.deepEqual(counted({ w0: 300, w1: 100 }, two, { w1: 200 }), { w0: 300, w1: 300 });
    assert.deepEqual(counted({ w1: 19 }, one), {}, 'a worker that no control knows');
  });
});

describe('transports', () => {
  const carried = (
    websocket: number,
    upgraded: number,
    polling: number,
    {
      transports = 'default',
      upgradeFailures = {},
    }: { transports?: 'default' | 'polling'; upgradeFailures?: object } = {},
  ): Changes => ({
    measured: { transports },
    snapshot: { transports: { websocket, upgraded, polling }, upgradeFailures: { ...upgradeFailures } },
  });
  const upgradeFailures = { http_400: 9, timeout_open: 1 };

  testRuns([
    ['of which all upgraded', carried(0, 600, 0)],
    ['that do not add up', carried(0, 599, 0), ['ACCOUNTS_MISMATCH', 600, 599]],
    [
      'that did not upgrade',
      carried(0, 590, 10, { upgradeFailures }),
      ['NOT_UPGRADED', '10 of 600', 'http_400 9', 'timeout_open 1'],
    ],
    ['that the server did not offer', carried(0, 0, 600), ['NOT_UPGRADED', '600 of 600']],
    ['of clients that only poll', carried(0, 0, 600, { transports: 'polling' })],
  ]);

  it('are figures, but not of another engine', () => {
    assert.deepEqual(run(carried(0, 600, 0)).connections.transports, {
      ...{ configured: 'default', websocket: 0, upgraded: 600, polling: 0, upgradeFailures: {} },
    });
    assert.equal(run({ measured: { engine: 'socketio' } }).connections.transports, null);
  });
});
