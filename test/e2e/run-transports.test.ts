/** TRANSPORTS: the same scenario with clients that poll first, or only poll, through nginx to several workers. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { freePorts } from '../../server/stack/ports.ts';
import { goodResult, quickScript, startRun, strays } from '../helpers/run.ts';

const NONE = { websocket: 0, upgraded: 0, polling: 0, upgradeFailures: {} };

describe('a run through the stack', { concurrency: 2 }, () => {
  const cases = {
    default: { counts: { ...NONE, upgraded: 10 }, clients: 'default clients: polling, then WebSocket' },
    polling: { counts: { ...NONE, polling: 10 }, clients: 'polling-only clients' },
  };
  for (const [name, { counts, clients }] of Object.entries(cases)) {
    it(`with TRANSPORTS=${name}`, async (t) => {
      const [port] = await freePorts(1);
      const script = quickScript({ target: `http://127.0.0.1:${port}` });
      const run = startRun(t, { script, env: { TRANSPORTS: name } });
      const result = await goodResult(run);
      assert.deepEqual(result.connections.transports, { configured: name, ...counts }, run.output());
      assert.equal(result.connections.opened, 10);
      assert.equal(result.connections.stagesMs.change?.count, name === 'default' ? 10 : undefined);
      assert.equal(result.delivery?.coverage, 1);
      assert.equal(result.latency.sentinelMs?.count, 3, 'the sentinel connects likewise');
      assert.ok(Object.keys(result.connections.perWorker).length > 1, 'several workers');
      assert.match(run.output(), new RegExp(`10 connections held .*\\(${clients}\\)`));
      assert.deepEqual(strays(run), []);
    });
  }
});
