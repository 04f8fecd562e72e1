import assert from 'node:assert/strict';
import { it } from 'node:test';
import { diagnose } from '../../../plugin/doctor/diagnosis.ts';
import { printDiagnosis } from '../../../plugin/doctor/print.ts';
import { findWarnings } from '../../../plugin/doctor/warnings.ts';
import { remote, situation } from '../../helpers/situation.ts';

const names = (...args: Parameters<typeof situation>) => findWarnings(situation(...args)).map(({ name }) => name);
const raises = (...args: Parameters<typeof situation>) => findWarnings(situation(...args)).map(({ raise }) => raise);

it('has nothing to say of 32,000 at 500/s, and of 100,000 at 800/s', () => {
  assert.deepEqual(names(), []);
  const load = { connections: 100_000, ratePerSec: 800, broadcasts: { bytes: 1000, intervalSeconds: 6 } };
  assert.deepEqual(names({ load }), []);
});

it('a rate beyond the cores', () => {
  const beside = ', or a longer CAPACITY_PING_INTERVAL_MS';
  assert.deepEqual(raises({ load: { ratePerSec: 2500 } }), [`RATE=1223, or 4 cores${beside}`]);
  assert.deepEqual(raises({ load: { ratePerSec: 2500, connections: 10_000 } }), ['RATE=1330, or 4 cores']);
  const large = { connections: 252_000, ratePerSec: 525, broadcasts: null };
  assert.deepEqual(raises({ load: large }), [`RATE=155, or 3 cores${beside}`]);
  assert.deepEqual(
    names({
      load: large,
      deployment: { ping: { intervalMs: 120_000, timeoutMs: 20_000 }, proxyReadTimeoutSeconds: 280 },
    }),
    [],
  );
  assert.deepEqual(findWarnings(remote({ load: { ratePerSec: 2500 } })), []);
});

it('broadcasts that follow each other faster than they can be delivered', () => {
  const broadcasts = { bytes: 1000, intervalSeconds: 0.5 };
  assert.deepEqual(raises({ load: { broadcasts } }), ['config.plugins.socketio-capacity.broadcasts.interval: 1']);
  assert.deepEqual(names({ load: { broadcasts: null } }), []);
});

it('a short queue for a high rate', () => {
  assert.deepEqual(raises({ machine: { somaxconn: 100 } }), ['sysctl -w net.core.somaxconn=4096']);
  assert.deepEqual(names({ machine: { synBacklog: 100 } }), ['acceptQueue']);
  assert.deepEqual(findWarnings(remote({ machine: { somaxconn: 100 } })), [], 'the queue is not on this machine');
});

it('a proxy that loses patience before Socket.IO does', () => {
  assert.deepEqual(names({ deployment: { proxyReadTimeoutSeconds: 45 } }), ['proxyReadTimeout']);
  assert.deepEqual(names({ deployment: { proxyReadTimeoutSeconds: 45, profile: 'embedded', workers: 1 } }), []);
});

it('broadcasts that fill Redis’s buffer for a worker that is busy for a while', () => {
  const broadcasts = { bytes: 2_000_000, intervalSeconds: 1 };
  assert.ok(names({ load: { connections: 100, broadcasts } }).includes('redisOutputBuffer'));
});

it('socket buffers beyond what the kernel gives TCP', () => {
  assert.deepEqual(names({ machine: { tcpMemoryBytes: 100 * 2 ** 20 } }), ['tcpMemory']);
});

it('virtual users that leave, where the run would measure held connections', () => {
  assert.deepEqual(names({ load: { leaves: true } }), ['leaving']);
});

it('of a server elsewhere, only what this machine can generate is said', () => {
  const far = remote({ load: { connections: 5000 } });
  assert.match(
    printDiagnosis(diagnose(far), far, 200),
    /\nThis machine can generate 5,000 .* not known before a run\.$/,
  );
  const many = remote({ load: { connections: 60_000 } });
  assert.match(
    printDiagnosis(diagnose(many), many, 200),
    /\nThis machine cannot generate 60,000 connections: at most /,
  );
});
