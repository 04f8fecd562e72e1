import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApp } from '../../helpers/app.ts';
import { fleetSettings, startFleet } from '../../helpers/fleet.ts';

test('connections opened together are distributed in groups, and a single one goes to the emptiest fleet process', async (t) => {
  const app = await startApp(t);
  const pair = await startFleet(t, fleetSettings(app.url), 2);
  const together = Array.from({ length: 40 }, () => {
    const connection = pair.connection();
    return { connection, opened: connection.open('/') };
  });
  const processes = together.map(({ connection }) => processOf(connection));
  const [first, second] = new Set(processes);
  assert.deepEqual(processes, [...Array(16).fill(first), ...Array(16).fill(second), ...Array(8).fill(first)]);
  await Promise.all(together.map(({ opened }) => opened));

  for (let index = 0; index < 8; index++) {
    const late = pair.connection();
    assert.equal(processOf(late), second);
    await late.open('/');
  }
});

function processOf(connection: object): unknown {
  const { child } = connection as { child?: unknown };
  assert.ok(child);
  return child;
}
