/** The connection between a host and the conductor breaks, and comes back in time, too late, or never. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { column } from '../../helpers/columns.ts';
import { CuttableLink } from '../../helpers/cuttable-link.ts';
import { newAgent, startHub, twoHosts } from '../../helpers/hosts.ts';
import { eventually } from '../../helpers/poll.ts';

const NEVER = new AbortController().signal;
const ORDER = { seq: 1, room: 'r', sentAtUs: 0, intendedAtUs: 0 };
const MEMBERS = 5;

/** The load of two hosts is on; the second one reaches the conductor over `wire`. */
async function loaded(t: TestContext, awayMs: number, silentAfterMs = awayMs) {
  let wire = {} as CuttableLink;
  const wayTo = async (port: number) => {
    wire = await CuttableLink.open(t, port);
    return wire.port;
  };
  const test = await twoHosts(t, { awayMs, silentAfterMs, wayTo });
  await test.link.snapshots();
  test.link.start();
  await eventually('the start', () => test.second.heard.some(({ type }) => type === 'start'));
  return { ...test, wire };
}

describe('a connection that breaks', { concurrency: true }, () => {
  it('and is back in time: what was asked meanwhile is answered once, and nobody is missed', async (t) => {
    const { link, wire, told } = await loaded(t, 5000);
    wire.drop();
    const asked = link.freeze([ORDER]);
    // Longer than an engine may take that is there.
    await new Promise((resolve) => setTimeout(resolve, 100));
    wire.mend();
    const rows = await asked;
    assert.deepEqual(column(rows, 'host').sort(), ['a', 'b']);
    for (const { expected, received, reordered } of rows) {
      assert.deepEqual([expected, received, reordered], [MEMBERS, MEMBERS, 1]);
    }
    assert.deepEqual([link.unanswered, told.filter((text) => text.includes('lost'))], [0, []]);
  });

  it('when its host has done its work: the conductor still learns that it is not lost', async (t) => {
    const { hub, wire, told, first, second } = await loaded(t, 5000);
    wire.drop();
    const left = Promise.all([first.agent.bye(false), second.agent.bye(false)]);
    wire.mend();
    await left;
    await hub.left();
    assert.ok(!told.some((text) => text.includes('lost')));
  });

  for (const isStopped of [false, true]) {
    it(`after its host has said goodbye (stopped: ${isStopped}), and before it hears that this came: it ends without an error`, async (t) => {
      const { hub, wire, told, second } = await loaded(t, 5000);
      wire.cutAnswers();
      const left = second.agent.bye(isStopped);
      await eventually('the goodbye', () => hub.hosts[1]?.hasLeft);
      wire.drop();
      wire.mend();
      await left;
      assert.deepEqual([second.ends, told.some((text) => text.includes('lost'))], [[], isStopped]);
    });
  }

  it('while the conductor ends the run: the host learns why, as soon as it is back', async (t) => {
    const { hub, wire, first, second } = await loaded(t, 5000);
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

  it('and is back when the conductor waits no longer: the host learns why, and ends', async (t) => {
    const { wire, told, second } = await loaded(t, 500, 60_000);
    wire.drop();
    await eventually('the loss', () => told.includes('b lost: it has not answered for 0.5 s'));
    wire.mend();
    const end = await eventually('the end of the host', () => second.ends[0]);
    assert.match(String(end), /goes on without this host \(it has not answered for 0\.5 s\)/);
  });

  it('while the host still reads the clock, for good: it ends, too', async (t) => {
    // About ten until it is let in, and one for each of its 16 readings.
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

  it('and is back too late: the host ends, and its answers count no more', async (t) => {
    const { link, wire, told, second } = await loaded(t, 500);
    wire.drop();
    const rows = await link.freeze([ORDER]);
    assert.ok(told.includes('b lost: it has not answered for 0.5 s'));
    assert.deepEqual([[...link.gone], [...link.reached.keys()]], [['b/1'], ['a/1']]);
    const lost = rows.find(({ host }) => host === 'b');
    assert.deepEqual([lost?.expected, lost?.received, lost?.lostDisconnected], [MEMBERS, 0, MEMBERS]);
    await eventually('the end of the host', () => second.ends.length > 0);
    wire.mend();
    const accounts = (await link.snapshots()).map((one) => one.accounts);
    assert.deepEqual(column(accounts, 'alive').sort(), [0, MEMBERS]);
    for (const { asked, alive, ended } of accounts) {
      assert.deepEqual([asked, ended], [MEMBERS, alive > 0 ? {} : { 'agent lost': MEMBERS }]);
    }
    assert.deepEqual([link.status.connected, link.unanswered], [MEMBERS, 0]);
  });
});

it('hosts of a run that died are refused by the next one with the same secret, and end', async (t) => {
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
