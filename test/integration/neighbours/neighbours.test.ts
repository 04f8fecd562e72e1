/**
 * Tests the servers of docs/guide/own-server.md, each with ten real connections and every copy that it sends. Servers
 * that are not installed are skipped; test/fixtures/neighbours/prepare.sh installs them.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Fleet } from '../../../plugin/fleet/fleet.ts';
import type { ClientKind, ConnectionOptions } from '../../../protocol/wire/connection.ts';
import { fleetSettings } from '../../helpers/fleet.ts';
import { NEIGHBOURS, PROXIES, startNeighbour, startProxy, whyNot } from '../../helpers/neighbours.ts';
import { measureOwn } from '../../helpers/own-event-run.ts';
import { startRedis } from '../../helpers/redis.ts';

const delivery = {
  event: 'chat message',
  id: '$.0.id',
  publish: { emit: ['chat message', { id: '$id', text: 'hello' }], every: 0.05, count: 5 },
};

async function assertEveryCopyReceived(url: string): Promise<void> {
  const { delivery: figures, latency, codes } = await measureOwn({ url, delivery, processes: 1, trial: true });
  assert.deepEqual(codes, []);
  assert.deepEqual([figures.broadcasts, figures.expected, figures.received], [5, 50, 50]);
  assert.equal(latency.from, 'publisher');
}

/**
 * Connects ten clients that start with polling.
 * @returns how many opened, and the errors of the others
 */
async function openTen(url: string, client: ClientKind) {
  const settings = fleetSettings(url, client);
  const transports: ConnectionOptions['transports'] = ['polling', 'websocket'];
  const fleet = await Fleet.start({ ...settings, defaults: { ...settings.defaults, transports } }, 1);
  try {
    const all = await Promise.allSettled(Array.from({ length: 10 }, () => fleet.connection().open('/')));
    const failed = all.filter((attempt) => attempt.status === 'rejected');
    return { opened: 10 - failed.length, causes: [...new Set(failed.map(({ reason }) => reason.code))] };
  } finally {
    await fleet.close();
  }
}

describe('neighbours', { concurrency: 3 }, () => {
  const { express, ...single } = NEIGHBOURS;
  for (const neighbour of Object.values(single)) {
    it(`a run receives every copy of each broadcast from the server ${neighbour.name}`, {
      skip: whyNot(neighbour),
    }, async (t) => {
      const url = await startNeighbour(t, neighbour);
      await assertEveryCopyReceived(url);
      assert.deepEqual(await openTen(url, 'light'), { opened: 10, causes: [] });
    });
  }

  for (const proxy of PROXIES) {
    it(`a run receives every copy of each broadcast from Express behind ${proxy.name}`, {
      skip: whyNot(express) ?? proxy.missing,
    }, async (t) => {
      const redis = await startRedis(t);
      const start = (worker: string) => startNeighbour(t, express, { REDIS_URL: redis.url, WORKER: worker });
      const workers = await Promise.all([start('w1'), start('w2')]);
      const { notSticky, sticky } = await startProxy(t, proxy, workers);

      await assertEveryCopyReceived(notSticky); // over WebSocket
      for (const url of sticky) {
        for (const client of ['light', 'official'] as const) {
          assert.deepEqual(await openTen(url, client), { opened: 10, causes: [] }, `${url}, ${client}`);
        }
      }
      const { opened, causes } = await openTen(notSticky, 'light');
      assert.ok(opened < 10, `${opened} of 10 opened`);
      assert.deepEqual(causes, ['http_400']);
    });
  }
});
