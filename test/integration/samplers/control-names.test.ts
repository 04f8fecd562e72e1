/** Control ports behind one name, as of a headless service: one at each of its addresses. */
import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { test } from 'node:test';
import { addressesOf } from '../../../plugin/samplers/control/places.ts';
import { ControlClients } from '../../../plugin/samplers/control/workers.ts';
import { startApp, TOKEN } from '../../helpers/app.ts';
import { assertEach, column } from '../../helpers/columns.ts';
import { eventually } from '../../helpers/poll.ts';
import { startRedis } from '../../helpers/redis.ts';

const four = (address: string): LookupAddress => ({ address, family: 4 });
const six = (address: string): LookupAddress => ({ address, family: 6 });

test('each address of a name is a worker, and other addresses are noticed', async (t) => {
  const first = await startApp(t, { CAPACITY_CONTROL_HOST: '127.0.0.2', CAPACITY_WORKER: 'w2' });
  const port = `${first.controlPort}`;
  const environment = { CAPACITY_CONTROL_HOST: '127.0.0.3', CAPACITY_CONTROL_PORT: port, CAPACITY_WORKER: 'w3' };
  await startApp(t, environment);
  let addresses = [four('127.0.0.3'), four('127.0.0.2'), six('::1')];
  const look = async (name: string) => {
    assert.equal(name, 'app-headless');
    return addresses;
  };
  const control = await ControlClients.connect([`http://app-headless:${port}`], TOKEN, { look });
  t.after(() => control.close());
  const stats = await control.stats();
  assert.deepEqual(column(stats, 'worker'), ['w2', 'w3']);
  assert.notEqual(stats[0]?.instance, stats[1]?.instance);
  assert.equal(control.size, 2);
  assert.deepEqual(await control.addresses(), { 'the workers at app-headless': '127.0.0.2, 127.0.0.3' });
  addresses = [four('127.0.0.3'), four('127.0.0.4')];
  assert.deepEqual(await control.addresses(), { 'the workers at app-headless': '127.0.0.3, 127.0.0.4' });
  const failing = await ControlClients.connectEach([`http://app-headless:${port}`], TOKEN, { look });
  assertEach(failing, (one) => ('error' in one ? one.error.code : one.control.close()), [
    undefined,
    'SOURCE_UNREACHABLE',
  ]);
  assert.match(failing[1]?.url ?? '', /app-headless:\d+ \(127\.0\.0\.4\)/);
});

test('one address of each kind is one host; addresses themselves and unknown names are left as they are', async () => {
  const looking = (...found: LookupAddress[]) => addressesOf('http://h:1', async () => found);
  assert.equal((await looking(four('10.0.0.1'), six('fd00::1'))).length, 1);
  assert.deepEqual(await looking(six('fd00::2'), six('fd00::1')), [six('fd00::1'), six('fd00::2')]);
  assert.deepEqual(await looking(four('10.0.0.1'), four('10.0.0.1')), [four('10.0.0.1')]);
  const never = () => Promise.reject(new Error('asked'));
  for (const url of ['http://127.0.0.1:1', 'http://[::1]:1', 'http://localhost:1', 'http://unknown.invalid:1'])
    assert.deepEqual(await addressesOf(url, never), []);
});

test('the number of servers is that of the cluster adapter, or one', async (t) => {
  const redis = await startRedis(t);
  const start = async (environment: Record<string, string>) => {
    const app = await startApp(t, environment);
    const control = await ControlClients.connect([app.controlUrl], TOKEN);
    t.after(() => control.close());
    return control;
  };
  assert.equal(await (await start({})).servers(), 1);
  for (const CAPACITY_ADAPTER of ['redis', 'redis-streams']) {
    const [first] = await Promise.all(
      ['w0', 'w1'].map((CAPACITY_WORKER) => start({ CAPACITY_ADAPTER, CAPACITY_WORKER, REDIS_URL: redis.url })),
    );
    await eventually('both are counted', async () => (await first?.servers()) === 2);
  }
});
