/** A worker is killed while 60 connections are held, and broadcasts go on: everything foots, and the verdict knows what was planned. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { freePorts } from '../../server/stack/ports.ts';
import { goodResult, quickScript, startRun, strays } from '../helpers/run.ts';

const CONNECTIONS = 60;

it('a planned crash of a worker has its cost in the result, and no doubt in the verdict', async (t) => {
  const [port] = await freePorts(1);
  const ramp = [{ duration: 2, arrivalRate: CONNECTIONS / 2, rampTo: CONNECTIONS / 2 }, { pause: 2 }];
  const options = {
    workers: 2,
    broadcasts: { count: 30, interval: 0.2 },
    fault: { kind: 'kill-worker', at: 1.1 },
    drain: { quiet: 0.3, deadline: 3 },
  };
  const script = quickScript({ target: `http://127.0.0.1:${port}`, phases: ramp }, options, {
    reconnection: { delay: 0.5, maxDelay: 1 },
  });
  const run = startRun(t, { script });
  const { fault, connections, delivery } = await goodResult(run);
  assert.ok(fault && delivery, run.output());
  assert.deepEqual([fault.kind, fault.replaced, fault.connections], ['kill-worker', ['w0'], CONNECTIONS]);
  // nginx has spread them over both workers; those of the other one notice nothing.
  assert.deepEqual([fault.stayed, fault.dropped, fault.back, fault.notBack], [30, 30, 30, {}]);
  assert.deepEqual([fault.drops, fault.returns], [30, 30]);
  assert.equal(connections.held, CONNECTIONS);
  const { p50, all } = fault.backMs;
  // Not before the first attempt, of which a half is random.
  assert.ok(p50 !== null && all !== null && p50 >= 250 && p50 <= all && all < 5000, JSON.stringify(fault.backMs));
  assert.equal(Math.min(...fault.curve.map(({ connected }) => connected)), CONNECTIONS - 30);
  assert.equal(fault.curve.at(-1)?.connected, CONNECTIONS);
  assert.equal(fault.perWorker.before.w0, 30);
  // The broadcasts while they were away: whoever was no member then missed it.
  const { broadcasts } = fault;
  assert.ok(broadcasts && broadcasts.sent > 0);
  assert.equal(broadcasts.due, broadcasts.received + broadcasts.missed);
  assert.ok(broadcasts.missed >= 30 && broadcasts.missed <= 30 * (broadcasts.sent + 1), JSON.stringify(broadcasts));
  assert.equal(delivery.batches.at(-1)?.received, CONNECTIONS);
  assert.match(run.output(), /a worker killed: 30 of 60 connections dropped, all back after/);
  assert.match(readFileSync(join(run.directory, 'results/latest/report.html'), 'utf8'), /Connections after the fault/);
  assert.deepEqual(strays(run), []);
});
