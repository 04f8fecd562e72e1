/** Tests conductor and hosts over real connections: admission, messages, and lost hosts. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { createAssigner, fetchAssignment } from '../../../plugin/conduct/hosts/host-assignment.ts';
import { openConductorListener } from '../../../plugin/conduct/hosts/listener.ts';
import { joinOf, newAgent, secret, startHub, twoHosts } from '../../helpers/hosts.ts';
import { eventually } from '../../helpers/poll.ts';

const NEVER = new AbortController().signal;
const ORDER = { seq: 1, room: 'r', sentAtUs: 0, intendedAtUs: 0 };

describe('admitted hosts', () => {
  it('admitted hosts report which programs use their CPUs', {
    skip: process.platform !== 'linux' && 'there is no /proc',
  }, async (t) => {
    const { hub, join, rows } = await startHub(t, 1);
    await newAgent(t, join, {}).agent.join();
    await hub.joined(5000, NEVER);
    const { shares } = await eventually('a row with shares', () => rows.find((row) => row.shares), 20_000);
    assert.ok(shares && shares.oursCores !== null && shares.othersCores !== null, JSON.stringify(shares));
  });

  it('every host replies to a request, and each row of the ledger has the name of its host', async (t) => {
    const { link, first, second, eventLog, hub } = await twoHosts(t);
    const agents = [first, second];
    assert.deepEqual((await link.snapshots()).map(({ from }) => from.host).sort(), ['a', 'b']);
    const rows = await link.freeze([ORDER]);
    assert.deepEqual(rows.map(({ host, received }) => `${host} ${received}`).sort(), ['a 5', 'b 5']);
    link.start();
    await eventually('the start', () => agents.every(({ heard }) => heard.some(({ type }) => type === 'start')));
    for (const { agent } of agents) agent.phase(0, 'started');
    first.agent.phase(0, 'completed');
    await eventually('the first phase', () => eventLog.includes('phase 0 started'));
    assert.ok(!eventLog.includes('phase 0 completed'));
    second.agent.phase(0, 'completed');
    await eventually('its end', () => eventLog.includes('phase 0 completed'));
    assert.equal(eventLog.filter((text) => text === 'phase 0 started').length, 1);
    await Promise.all(agents.map(({ agent }) => agent.bye(false)));
    await hub.left();
    await link.close();
    assert.ok(!eventLog.some((text) => text.includes('lost')));
    assert.equal(link.unanswered, 0);
  });

  it('the run ends, with the names of the lost hosts, if hosts are lost before the load', async (t) => {
    const { first, refusals } = await twoHosts(t);
    await first.agent.close();
    await eventually('the refusal', () => refusals.length > 0);
    assert.deepEqual([refusals[0]?.code, /^host a is lost/.test(refusals[0]?.message ?? '')], ['HOSTS_MISSING', true]);
  });
});

it('a conductor numbers the joining hosts, sends them its variables, and requires the token', async (t) => {
  const listener = await openConductorListener('127.0.0.1', 0, secret);
  t.after(() => listener.close());
  const inputs = { path: 'a.yml', environment: 'staging', overrides: '{}', variables: ['TARGET', 'UNSET'], hosts: 2 };
  listener.giveOrders(createAssigner(inputs, { TARGET: 'http://t', OTHER: '1' }));
  const join = joinOf(listener);
  const first = await fetchAssignment(join, 'a', NEVER);
  const numbered = (index: string) => ({ TARGET: 'http://t', CAPACITY_HOSTS: '2', CAPACITY_HOST: index });
  const args = ['--quiet', '--environment', 'staging', '--overrides', '{}', 'a.yml'];
  assert.deepEqual(first, { args, env: numbered('0') });
  assert.deepEqual((await fetchAssignment(join, 'b', NEVER)).env, numbered('1'));
  assert.deepEqual(await fetchAssignment(join, 'a', NEVER), first);
  await assert.rejects(fetchAssignment(join, 'c', AbortSignal.timeout(100)), { name: 'AbortError' });
  await assert.rejects(fetchAssignment({ ...join, token: 'another-token-here' }, 'a', NEVER), { code: 'BAD_TOKEN' });
});

it('a conductor ends even if an idle client is connected', async () => {
  const listener = await openConductorListener('127.0.0.1', 0, secret);
  const idle = connect({ port: listener.port, host: '127.0.0.1' });
  idle.on('error', () => {});
  await once(idle, 'connect');
  const ended = once(idle, 'close');
  await listener.close();
  await ended;
});

describe('a host', () => {
  const refused = async (t: TestContext, hello: object, hosts = 1) => {
    const { join, refusals } = await startHub(t, hosts);
    const { agent } = newAgent(t, join, { hosts, ...hello });
    await assert.rejects(agent.join());
    assert.equal(refusals[0]?.code, 'HOSTS_DISAGREE');
    return refusals[0]?.message ?? '';
  };

  it('the conductor refuses a host with another version, scenario or number of hosts', async (t) => {
    assert.match(await refused(t, { version: '2' }), /^a: it has version 2 of the plugin, the conductor has 1/);
    const inputs = { scenarios: 'same', 'users.csv': 'other' };
    assert.match(await refused(t, { inputs }), /^a: .*: users\.csv$/);
    assert.match(
      await refused(t, { hosts: 1 }, 3),
      /^a: it takes its share as one of 1 host, but the conductor expects 3/,
    );
  });

  it('the conductor refuses a host with a wrong token or certificate, before its hello is read', async (t) => {
    const { join, refusals } = await startHub(t, 1);
    const wrong = [
      { ...join, token: 'another-token-here' },
      { ...join, fingerprint: 'ab'.repeat(32) },
    ];
    for (const joinToken of wrong) await assert.rejects(newAgent(t, joinToken, {}).agent.join(), { code: 'BAD_TOKEN' });
    assert.deepEqual(refusals, []);
  });

  it('the conductor refuses an additional host once the run has all its hosts, and the run continues', async (t) => {
    const { hub, join, refusals } = await startHub(t, 1);
    await newAgent(t, join, {}).agent.join();
    await hub.joined(5000, NEVER);
    await assert.rejects(newAgent(t, join, { host: 'late' }).agent.join(), {
      code: 'HOSTS_DISAGREE',
      message: 'the run already has its 1 hosts: a',
    });
    assert.deepEqual(refusals, []);
  });

  it('the conductor refuses a host if the shares of all hosts do not add up to the scenario', async (t) => {
    const { hub, join } = await startHub(t, 2);
    const joined = assert.rejects(hub.joined(5000, NEVER), {
      code: 'HOSTS_DISAGREE',
      message: 'the hosts’ shares of phase 1 add up to 21 arrivals, the scenario has 20: a 10, b 11',
    });
    await newAgent(t, join, { hosts: 2 }).agent.join();
    await newAgent(t, join, { host: 'b', hosts: 2, arrivals: [11, 0] }).agent.join();
    await joined;
  });

  it('the run fails, with the names of the joined hosts, if some hosts are missing at the deadline', async (t) => {
    const { hub, join } = await startHub(t, 2);
    await newAgent(t, join, { hosts: 2 }).agent.join();
    await assert.rejects(hub.joined(50, NEVER), {
      code: 'HOSTS_MISSING',
      message: /1 of 2 hosts did not join.* joined: a$/,
    });
  });
});
