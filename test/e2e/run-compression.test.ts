/** COMPRESSION: on both sides of a run, and a run whose clients do without what the server would give to browsers. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { freePorts } from '../../server/stack/ports.ts';
import { goodResult, quickScript, startRun } from '../helpers/run.ts';

describe('a run through the stack', { concurrency: 2 }, () => {
  const cases = {
    'and clients that ask for it': {
      env: { COMPRESSION: 'on', TRANSPORTS: 'default' },
      compression: { asked: true, granted: 10, byServer: true },
      clients: 'default clients: polling, then WebSocket, compressed',
    },
    'and clients that do not': {
      env: { CAPACITY_PER_MESSAGE_DEFLATE: 'on' },
      compression: { asked: false, granted: 0, byServer: true },
      clients: 'WebSocket-only clients, without the compression that this server gives to browsers',
    },
  };
  for (const [name, { env, compression, clients }] of Object.entries(cases)) {
    it(`with a server that compresses, ${name}`, async (t) => {
      const [port] = await freePorts(1);
      const run = startRun(t, { script: quickScript({ target: `http://127.0.0.1:${port}` }), env });
      const result = await goodResult(run);
      assert.deepEqual(result.connections.compression, compression, run.output());
      assert.equal(result.delivery?.coverage, 1);
      assert.equal(result.environment.server?.tunings.perMessageDeflate, 'on');
      assert.match(run.output().replaceAll(/\s+/g, ' '), new RegExp(`10 connections held .*\\(${clients}\\)`));
      assert.equal(/The server compresses for clients that offer it/.test(run.output()), !compression.asked);
    });
  }
});
