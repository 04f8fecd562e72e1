import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fleetSettings, startFleet } from '../../helpers/fleet.ts';

test('command lines of the fleet contain no headers, credentials or keys', async (t) => {
  const settings = fleetSettings('http://127.0.0.1:1', 'light', {
    headers: { authorization: 'Bearer secret-1' },
    auth: { password: 'secret-2' },
    tls: { key: 'secret-3' },
  });
  const fleet = await startFleet(t, settings, 2);
  const { processes } = await fleet.snapshot();
  assert.equal(processes.length, 2);
  for (const { pid } of processes) assert.doesNotMatch(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), /secret/);
});
