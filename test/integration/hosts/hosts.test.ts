/** Conductor and hosts over real connections: who is let in, what passes between them, and what happens when one is gone. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { newSecret } from '../../../plugin/conduct/hosts/join-line.ts';
import { Listener } from '../../../plugin/conduct/hosts/listener.ts';
import { EngineLink, NO_STATUS } from '../../../plugin/run/link.ts';
import type { EngineReport, RunMessage } from '../../../protocol/link/messages.ts';
import { newAgent, startHub } from '../../helpers/hosts.ts';
import { frozenBroadcast, snapshot } from '../../helpers/measurements.ts';
import { eventually } from '../../helpers/poll.ts';

const NEVER = new AbortController().signal;
const ORDER = { seq: 1, room: 'r', sentAtUs: 0, intendedAtUs: 0 };

function engineOf(connections: number) {
  return (message: RunMessage): EngineReport | undefined => {
    if (message.type === 'snapshot') {
      const accounts = { asked: connections, pending: 0, alive: connections, failed: {}, ended: {}, returned: 0 };
      return { ...message, snapshot: snapshot({ accounts }) };
    }
    if (message.type === 'freeze') {
      return { type: 'frozen', requestId: message.requestId, rows: [frozenBroadcast(1, [10, 20])] };
    }
    return message.type === 'close' ? { type: 'closed', requestId: message.requestId } : undefined;
  };
}

/** Two hosts, whose engines hold 5 connections each, and the run's link to them. */
async function twoHosts(t: TestContext) {
  const test = await startHub(t, 2);
  const link = new EngineLink(test.hub, { hosts: 2 });
  const agents = ['a', 'b'].map((host) => newAgent(t, test.join, { host, hosts: 2 }, engineOf(5), 200));
  const joined = test.hub.joined(5000, NEVER);
  await Promise.all(agents.map(({ agent }) => agent.join()));
  for (const { say } of agents) {
    say({ type: 'ready', engines: 1 });
    say({ type: 'status', status: { ...NO_STATUS, started: 5, connected: 5, joined: 5 } });
  }
  await joined;
  await link.ready(NEVER);
  await eventually('both statuses', () => link.status.connected === 10);
  return { ...test, link, agents };
}

describe('hosts that a run takes', () => {
  it('tell who uses their CPUs', { skip: process.platform !== 'linux' && 'there is no /proc' }, async (t) => {
    const { hub, join, rows } = await startHub(t, 1);
    await newAgent(t, join, {}).agent.join();
    await hub.joined(5000, NEVER);
    const { shares } = await eventually('a row with it', () => rows.find((row) => row.shares), 20_000);
    assert.ok(shares && shares.oursCores !== null && shares.othersCores !== null, JSON.stringify(shares));
  });

  it('have one ledger: all answer, and each row says which host it is of', async (t) => {
    const { link, agents, told, hub } = await twoHosts(t);
    assert.deepEqual((await link.snapshots()).map(({ from }) => from.host).sort(), ['a', 'b']);
    assert.deepEqual((await link.freeze([ORDER])).map(({ host, received }) => [host, received]).sort(), [
      ['a', 2],
      ['b', 2],
    ]);
    link.start();
    await eventually('the start', () => agents.every(({ heard }) => heard.some(({ type }) => type === 'start')));
    const [one, other] = agents.map(({ agent }) => agent);
    one?.phase(0, 'started');
    other?.phase(0, 'started');
    one?.phase(0, 'completed');
    await eventually('the first phase', () => told.includes('phase 0 started'));
    assert.ok(!told.includes('phase 0 completed'));
    other?.phase(0, 'completed');
    await eventually('its end', () => told.includes('phase 0 completed'));
    assert.equal(told.filter((text) => text === 'phase 0 started').length, 1);
    await Promise.all(agents.map(({ agent }) => agent.bye(false)));
    await hub.left();
    await link.close();
    assert.deepEqual(
      told.filter((text) => text.includes('lost')),
      [],
    );
    assert.equal(link.unanswered, 0);
  });

  it('that are gone before the load end the run, by name', async (t) => {
    const { agents, refusals } = await twoHosts(t);
    await agents[0]?.agent.close();
    await eventually('the refusal', () => refusals.length > 0);
    assert.deepEqual([refusals[0]?.code, /^a is gone/.test(refusals[0]?.message ?? '')], ['HOSTS_MISSING', true]);
  });

  it('end when their conductor is silent', async (t) => {
    const { agents, hub } = await twoHosts(t);
    hub.end(4, 'over');
    await eventually('the end', () => agents.every(({ ends }) => ends.includes('over')));
  });
});

it('a conductor ends although somebody is connected to it, and says nothing', async () => {
  const listener = await Listener.open('127.0.0.1', 0, await newSecret());
  const mute = connect({ port: listener.port, host: '127.0.0.1' });
  mute.on('error', () => {});
  await once(mute, 'connect');
  const ended = once(mute, 'close');
  await listener.close();
  await ended;
});

describe('a host is refused', () => {
  const refused = async (t: TestContext, hello: object, hosts = 1) => {
    const { join, refusals } = await startHub(t, hosts);
    const { agent } = newAgent(t, join, { hosts, ...hello });
    await assert.rejects(agent.join());
    assert.equal(refusals[0]?.code, 'HOSTS_DISAGREE');
    return refusals[0]?.message ?? '';
  };

  it('with another version, scenario or number of hosts', async (t) => {
    assert.match(await refused(t, { version: '2' }), /^a: it has version 2 of the plugin, the conductor has 1/);
    const inputs = { scenarios: 'same', 'users.csv': 'other' };
    assert.match(await refused(t, { inputs }), /^a: it does not read what the conductor reads: users\.csv$/);
    assert.match(await refused(t, { hosts: 1 }, 3), /^a: it takes its share as one of 1 host, the conductor expects 3/);
  });

  it('with a wrong token or certificate, before it says who it is', async (t) => {
    const { join, refusals } = await startHub(t, 1);
    const wrong = [
      { ...join, token: 'another-token-here' },
      { ...join, fingerprint: 'ab'.repeat(32) },
    ];
    for (const line of wrong) await assert.rejects(newAgent(t, line, {}).agent.join(), { code: 'BAD_TOKEN' });
    assert.deepEqual(refusals, []);
  });

  it('if it is one too many, and the run goes on without it', async (t) => {
    const { hub, join, refusals } = await startHub(t, 1);
    await newAgent(t, join, {}).agent.join();
    await hub.joined(5000, NEVER);
    await assert.rejects(newAgent(t, join, { host: 'late' }).agent.join(), {
      code: 'HOSTS_DISAGREE',
      message: 'the run has its 1 hosts: a',
    });
    assert.deepEqual(refusals, []);
  });

  it('if the shares are not the scenario: all are named', async (t) => {
    const { hub, join } = await startHub(t, 2);
    const joined = assert.rejects(hub.joined(5000, NEVER), {
      code: 'HOSTS_DISAGREE',
      message: 'the shares of phase 1 bring 21 arrivals, the scenario 20: a 10, b 11',
    });
    await newAgent(t, join, { hosts: 2 }).agent.join();
    await newAgent(t, join, { host: 'b', hosts: 2, arrivals: [11, 0] }).agent.join();
    await joined;
  });

  it('and those that never come are missed, with the names of those that did', async (t) => {
    const { hub, join } = await startHub(t, 2);
    await newAgent(t, join, { hosts: 2 }).agent.join();
    await assert.rejects(hub.joined(50, NEVER), {
      code: 'HOSTS_MISSING',
      message: /1 of 2 hosts did not come.* here is a$/,
    });
  });
});
