/** `TLS=on`: the run's own stack terminates TLS, and everything goes through it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { freePorts } from '../../server/stack/ports.ts';
import { eventually } from '../helpers/poll.ts';
import { quickScript, startRun, strays } from '../helpers/run.ts';

it('a run over TLS is valid, counts its handshakes, and leaves nothing', async (t) => {
  const [port] = await freePorts(1);
  const run = startRun(t, { script: quickScript({ target: `http://127.0.0.1:${port}` }), env: { TLS: 'on' } });
  await run.ended;
  const result = run.result();
  assert.ok(result, run.output());
  assert.equal(result.run.target, `https://127.0.0.1:${port}`);
  assert.equal(result.connections.held, 10, run.output());
  assert.deepEqual(result.connections.tlsHandshakes, { full: 10, resumed: 0 });
  assert.equal(result.connections.stagesMs.tls?.count, 10);
  assert.equal(result.delivery?.coverage, 1);
  assert.equal(result.latency.sentinelMs?.count, 3, 'the sentinel is connected');
  await eventually('end of all processes', () => strays(run).length === 0);
});
