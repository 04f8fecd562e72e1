/** Tests which source ports the doctor must count: those of TCP connections that the light client closes first. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, type TestContext, test } from 'node:test';
import type { Client } from '../../../plugin/fleet/client/client.ts';
import { SOCKETS_CLOSED_BY_CLIENT, transportsName } from '../../../protocol/wire/connection.ts';
import { startChat } from '../../helpers/chat-server.ts';
import {
  type ClientKindUnderTest,
  lightClient,
  lightPollingClient,
  lightUpgradingClient,
  startClient,
} from '../../helpers/fleet-clients.ts';
import { eventually } from '../../helpers/poll.ts';

const CONNECTIONS = 5;
const TIME_WAIT = '06';

/** @returns the source ports in TIME_WAIT of connections to the server */
function portsWaiting(serverPort: number): number {
  const hex = serverPort.toString(16).toUpperCase().padStart(4, '0');
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  return rows.filter((row) => new RegExp(`^ *\\d+: \\S+ \\w+:${hex} ${TIME_WAIT} `).test(row)).length;
}

/**
 * Maximum number of attempts. The side that closes first keeps the port in TIME_WAIT, and on a busy machine this can be
 * the server.
 */
const ATTEMPTS = 3;
const SETTLE_MS = 5000;

function isAbout(count: number, expected: number): boolean {
  return count >= 0.6 * expected && count <= expected;
}

async function assertPortsInTimeWait(t: TestContext, kind: ClientKindUnderTest): Promise<void> {
  const { io, port, url } = await startChat(t);
  const name = transportsName(kind.transports);
  const { opening, leaving } = SOCKETS_CLOSED_BY_CLIENT[name];
  const clients: Client[] = [];
  for (let index = 0; index < CONNECTIONS; index++) {
    const { client, sink } = startClient(kind, url);
    clients.push(client);
    await sink.next('open');
    if (name === 'default') await sink.next('upgraded');
  }
  const waiting = (expected: number) =>
    eventually(`${expected} ports in TIME_WAIT`, () => isAbout(portsWaiting(port), expected), SETTLE_MS);
  await waiting(CONNECTIONS * opening);
  assert.equal(io.engine.clientsCount, CONNECTIONS);
  for (const client of clients) client.close();
  await eventually('all have disconnected', () => io.engine.clientsCount === 0);
  await waiting(CONNECTIONS * (opening + leaving));
}

suite('source ports in TIME_WAIT', { skip: process.platform !== 'linux' }, () => {
  for (const kind of [lightClient, lightUpgradingClient, lightPollingClient]) {
    test(`closed connections leave as many source ports in TIME_WAIT as the doctor expects: ${kind.name}`, async (t) => {
      const isCountRight = () =>
        assertPortsInTimeWait(t, kind).then(
          () => true,
          () => false,
        );
      for (let attempt = 1; attempt < ATTEMPTS; attempt++) if (await isCountRight()) return;
      await assertPortsInTimeWait(t, kind);
    });
  }
});
