/** Tests conditions that do not prevent connections but distort measurements. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { findDoctorWarnings } from '../../../plugin/doctor/warnings.ts';
import { remote, situation } from '../../helpers/situation.ts';

const raises = (...args: Parameters<typeof situation>) =>
  findDoctorWarnings(situation(...args)).map(({ raise }) => raise);
const pingAlternative = ', or a longer CAPACITY_PING_INTERVAL_MS';
const large = { connections: 252_000, ratePerSec: 525, broadcasts: null };
const rarePings = { ping: { intervalMs: 120_000, timeoutMs: 20_000 } };
const waiting = { ...large, broadcasts: { bytes: 1000, intervalSeconds: 45 } };
const buffers = { tcpMemoryBytes: 16 * 2 ** 30 };
const PRIORITY =
  '`sysctl -w kernel.sched_autogroup_enabled=0`, then `nice -n 19 npx socketio-capacity stack up` before the run; or another machine for the generator';

const often = { broadcasts: { bytes: 1000, intervalSeconds: 0.5 } };
const yielding = { ...rarePings, kind: 'up' as const, yieldsCpu: true };
const hundredThousand = { connections: 100_000, ratePerSec: 800, broadcasts: { bytes: 1000, intervalSeconds: 6 } };
const fewBuffers = { tcpMemoryBytes: 100 * 2 ** 20 };
const fast = { ratePerSec: 2500 };

/** Situations with the fixes of their warnings. */
const CASES: [title: string, changes: Parameters<typeof situation>[0], ...raise: string[]][] = [
  ['no warning at 32,000 and 500/s', {}],
  ['no warning at 100,000 and 800/s', { load: hundredThousand }],
  [
    'a warning about a rate too high for the CPU cores',
    { load: { ...fast, connections: 10_000 } },
    'RATE=1330, or 4 cores',
  ],
  [
    'a warning about a rate too high beside the pings of many connections',
    { load: fast },
    `RATE=1223, or 4 cores${pingAlternative}`,
  ],
  ['a warning about a rate too high beside very many pings', { load: large }, `RATE=155, or 3 cores${pingAlternative}`],
  ['no warning with rare pings', { load: large, deployment: rarePings }],
  [
    'a warning about broadcasts faster than their deliveries',
    { load: often },
    'config.plugins.socketio-capacity.broadcasts.interval: 1',
  ],
  [
    'a warning about a generator that waits for a core',
    { load: waiting, deployment: rarePings, machine: buffers },
    PRIORITY,
  ],
  ['no warning for a stack with a low priority', { load: waiting, deployment: yielding, machine: buffers }],
  ['no warning without broadcasts', { load: { broadcasts: null } }],
  [
    'a warning about a short accept queue for a high rate',
    { machine: { somaxconn: 100 } },
    'sysctl -w net.core.somaxconn=4096',
  ],
  [
    'a warning about buffers beyond the TCP memory limit',
    { machine: fewBuffers },
    'sysctl -w net.ipv4.tcp_mem="64000 96000 128000"',
  ],
  [
    'a warning about a scenario in which only some virtual users leave',
    { load: { leaves: true } },
    'end all flows with `hold: true`, or none',
  ],
  [
    'a warning about virtual users that leave before the next one arrives',
    { load: { alone: true } },
    'let them stay: add `think: <seconds>` to the flow, or end it with `hold: true`; or raise `arrivalRate`',
  ],
];

for (const [title, changes, ...raise] of CASES)
  it(`the doctor’s check of run settings gives ${title}`, () => assert.deepEqual(raises(changes), raise));

it('the doctor gives no warning about the accept queue and the cores of a remote server', () => {
  assert.deepEqual(findDoctorWarnings(remote({ machine: { somaxconn: 100 }, load: { ratePerSec: 2500 } })), []);
});
