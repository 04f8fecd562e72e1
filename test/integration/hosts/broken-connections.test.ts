/** Tests a broken connection between a host and the conductor that is restored in time, too late, or never. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { column } from '../../helpers/columns.ts';
import { CuttableLink } from '../../helpers/cuttable-link.ts';
import { newAgent, startHub, twoHosts } from '../../helpers/hosts.ts';
import { eventually } from '../../helpers/poll.ts';

const NEVER = new AbortController().signal;
const ORDER = { seq: 1, room: 'r', sentAtUs: 0, intendedAtUs: 0 };
const MEMBERS = 5;

/** Starts the load of two hosts. The second host is connected to the conductor over `wire`. */
async function startLoad(t: TestContext, awayMs: number, silentAfterMs = awayMs) {
  let wire = {} as CuttableLink;
  const routeTo = async (port: number) => {
    wire = await CuttableLink.open(t, port);
    return wire.port;
  };
  const test = await twoHosts(t, { awayMs, silentAfterMs, routeTo });
  await test.link.snapshots();
  test.link.start();
  await eventually('the start', () => test.second.heard.some(({ type }) => type === 'start'));
  return { ...test, wire };
}

describe('a broken connection', { concurrency: true }, () => {
  it('a host that reconnects to the conductor in time loses no request', async (t) => {
    const { link, wire, eventLog } = await startLoad(t, 5000);
    wire.drop();
    const frozen = link.freeze([ORDER]);
    // Waits longer than the reply timeout of a connected engine.
    await new Promise((resolve) => setTimeout(resolve, 2100));
    wire.mend();
    const rows = await frozen;
    assert.deepEqual(column(rows, 'host').sort(), ['a', 'b']);
    for (const { expected, received, reordered } of rows) {
      assert.deepEqual([expected, received, reordered], [MEMBERS, MEMBERS, 1]);
    }
    assert.deepEqual([link.unanswered, eventLog.filter((text) => text.includes('lost'))], [0, []]);
  });

  it('a host can report its end to the conductor after its connection broke', async (t) => {
    const { hub, wire, eventLog, first, second } = await startLoad(t, 5000);
    wire.drop();
    const left = Promise.all([first.agent.bye(false), second.agent.bye(false)]);
    wire.mend();
    await left;
    await hub.left();
    assert.ok(!eventLog.some((text) => text.includes('lost')));
  });

  for (const isStopped of [false, true]) {
    it(`a host whose connection breaks before its sign-off is acknowledged ends cleanly (stopped: ${isStopped})`, async (t) => {
      const { hub, wire, eventLog, second } = await startLoad(t, 5000);
      wire.cutAnswers();
      const left = second.agent.bye(isStopped);
      await eventually('the goodbye', () => hub.hosts[1]?.hasLeft);
      wire.drop();
      wire.mend();
      await left;
      assert.deepEqual([second.ends, eventLog.some((text) => text.includes('lost'))], [[], isStopped]);
    });
  }

  it('a host that was disconnected when the conductor ended the run gets the reason after it reconnects', async (t) => {
    const { hub, wire, first, second } = await startLoad(t, 5000);
    const { socket } = hub.hosts[1] ?? assert.fail('no second host');
    wire.drop();
    hub.end(130, 'stopped');
    await eventually('the break', () => socket?.connected === false);
    wire.mend();
    await eventually('the end of both hosts', () => first.ends.length + second.ends.length === 2);
    assert.deepEqual([first.ends, second.ends], [['stopped'], ['stopped']]);
    await Promise.all([first.agent.close(), second.agent.close()]);
    await hub.left();
  });

  it('a host that reconnects after the conductor has given up ends with the reason', async (t) => {
    const { wire, eventLog, second } = await startLoad(t, 500, 60_000);
    wire.drop();
    await eventually('the loss', () => eventLog.includes('b lost: it has not answered for 0.5 s'));
    wire.mend();
    const end = await eventually('the end of the host', () => second.ends[0]);
    assert.match(String(end), /goes on without this host \(it has not answered for 0\.5 s\)/);
  });

  it('a host that cannot reconnect ends, even while it samples the conductor’s clock', async (t) => {
    // Numbers of messages after which the link drops. A host is admitted after about ten messages, and 16 clock
    // readings with one message each follow.
    const attempts = [10, 14, 18, 22].map(async (answers) => {
      const test = await startHub(t, 1);
      const wire = await CuttableLink.open(t, test.join.port);
      const { agent, ends } = newAgent(t, { ...test.join, port: wire.port }, {}, undefined, 100);
      wire.dropAfter(answers);
      const refused = await agent.join().catch(() => true);
      if (!refused) await eventually(`the end, after ${answers} answers`, () => ends.length > 0, 5000);
    });
    await Promise.all(attempts);
  });

  it('a host that reconnects too late ends, and the conductor ignores its replies', async (t) => {
    const { link, wire, eventLog, second } = await startLoad(t, 500, 3000);
    wire.drop();
    const rows = await link.freeze([ORDER]);
    assert.ok(eventLog.includes('b lost: it has not answered for 0.5 s'));
    assert.deepEqual([[...link.gone], [...link.reached.keys()]], [['b/1'], ['a/1']]);
    const lost = rows.find(({ host }) => host === 'b');
    assert.deepEqual([lost?.expected, lost?.received, lost?.lostDisconnected], [MEMBERS, 0, MEMBERS]);
    await eventually('the end of the host', () => second.ends.length > 0);
    wire.mend();
    const accounts = (await link.snapshots()).map(({ accounts }) => accounts);
    assert.deepEqual(column(accounts, 'alive').sort(), [0, MEMBERS]);
    for (const { asked, alive, ended } of accounts) {
      assert.deepEqual([asked, ended], [MEMBERS, alive > 0 ? {} : { 'agent lost': MEMBERS }]);
    }
    assert.deepEqual([link.status.connected, link.unanswered], [MEMBERS, 0]);
  });
});

it('the conductor refuses hosts of an earlier run with the same secret, and makes them end', async (t) => {
  const [died, next] = [await startHub(t, 1), await startHub(t, 1)];
  const wire = await CuttableLink.open(t, died.join.port);
  const old = newAgent(t, { ...died.join, port: wire.port }, { host: 'old' });
  await old.agent.join();
  died.hub.send({ type: 'start' });
  wire.drop();
  wire.mend(next.join.port);
  await eventually('the end of the old host', () => old.ends.length > 0);
  assert.match(String(old.ends[0]), /belongs to an earlier run/);
  await newAgent(t, next.join, { host: 'new' }).agent.join();
  await next.hub.joined(5000, NEVER);
  assert.deepEqual(column(next.hub.hosts, 'name'), ['new']);
  assert.deepEqual(next.refusals, []);
});
