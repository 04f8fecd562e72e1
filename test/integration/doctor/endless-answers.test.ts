/** Tests servers whose responses never end. The checks stop in time, with the part received so far. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { type TestContext, test } from 'node:test';
import { checkUpgrades } from '../../../plugin/doctor/target/check-connect.ts';
import { requestHandshake } from '../../../plugin/run/receivers/request-handshake.ts';
import { connectionTargetOf } from '../../../plugin/script/connection-target.ts';
import { parseEngineOptions } from '../../../plugin/script/options/engine-options.ts';
import { listen } from '../../helpers/raw-listen.ts';

const HEAD = 'HTTP/1.1 403 no\r\n';
const LONGEST_MS = 10_000;

async function setUp(t: TestContext, start: string, repeated: string) {
  const server: Server = createServer((socket) => {
    socket.write(start);
    const timer = setInterval(() => socket.write(repeated) && server.emit('drop'), 5);
    socket.once('close', () => clearInterval(timer));
  });
  const target = `http://127.0.0.1:${await listen(t, server)}`;
  const options = parseEngineOptions({ config: { target } }, []);
  assert.ok(options);
  const connection = connectionTargetOf(options);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const addresses = [{ address: '127.0.0.1', family: 4 }];
  const subject = { connection, addresses, signal: t.signal, clients: {} as never };
  const requests = { handshake: requestHandshake(connection), upgrade: checkUpgrades(subject) };
  for (let drops = 0; drops < 20; drops++) await once(server, 'drop');
  t.mock.timers.tick(LONGEST_MS);
  const { status, body, error } = await requests.handshake;
  return {
    outcome: body ?? (error as { code?: string }).code,
    status,
    upgrade: (await requests.upgrade)[0]?.found,
  };
}

test('the doctor gives up on HTTP headers that never end', { timeout: 20_000 }, async (t) => {
  const { outcome, status, upgrade } = await setUp(t, HEAD, 'x: y\r\n');
  assert.deepEqual([outcome, status], ['ETIMEDOUT', undefined]);
  assert.match(upgrade ?? '', /accepted the connection, but did not answer the request/);
});

test('the doctor gives up on an HTTP body that never ends, and quotes its beginning', {
  timeout: 20_000,
}, async (t) => {
  const { outcome, status, upgrade } = await setUp(t, `${HEAD}\r\nwho are you?`, '.');
  assert.equal(status, 403);
  assert.match(outcome ?? '', /^who are you\?/);
  assert.match(upgrade ?? '', /^HTTP 403: who are you\?/);
});
