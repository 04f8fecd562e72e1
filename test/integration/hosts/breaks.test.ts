/** The connection between a host and the conductor breaks, and comes back in time, too late, or never. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { EngineLink, NO_STATUS } from '../../../plugin/run/link.ts';
import type { EngineReport, RunMessage } from '../../../protocol/link/messages.ts';
import { column } from '../../helpers/columns.ts';
import { CuttableLink } from '../../helpers/cuttable-link.ts';
import { newAgent, startHub } from '../../helpers/hosts.ts';
import { frozenBroadcast, snapshot } from '../../helpers/measurements.ts';
import { eventually } from '../../helpers/poll.ts';

const NEVER = new AbortController().signal;
const ORDER = { seq: 1, room: 'r', sentAtUs: 0, intendedAtUs: 0 };
const MEMBERS = 5;

/** How often it was asked is in `reordered`. */
function engine() {
  let asked = 0;
  return (message: RunMessage): EngineReport | undefined => {
    if (message.type === 'snapshot') {
      const accounts = { asked: MEMBERS, pending: 0, alive: MEMBERS, failed: {}, ended: {}, returned: 0 };
      return { ...message, snapshot: snapshot({ accounts }) };
    }
    if (message.type !== 'freeze') return undefined;
    const row = frozenBroadcast(1, [10, 20, 30, 40, 50], { reordered: ++asked });
    return { type: 'frozen', requestId: message.requestId, rows: [row] };
  };
}

/** The load of two hosts is on; the second one reaches the conductor over `wire`. */
async function loaded(t: TestContext, awayMs: number, silentAfterMs = awayMs) {
  const test = await startHub(t, 2, awayMs);
  const wire = await CuttableLink.open(t, test.join.port);
  const link = new EngineLink(test.hub, { hosts: 2, replyTimeoutMs: 50, awayMs });
  const joins = [test.join, { ...test.join, port: wire.port }];
  const agents = joins.map((join, index) =>
    newAgent(t, join, { host: ['a', 'b'][index] as string, hosts: 2 }, engine(), silentAfterMs),
  );
  const joined = test.hub.joined(5000, NEVER);
  await Promise.all(agents.map(({ agent }) => agent.join()));
  for (const { say } of agents) {
    say({ type: 'ready', engines: 1 });
    say({ type: 'status', status: { ...NO_STATUS, started: MEMBERS, connected: MEMBERS, joined: MEMBERS } });
  }
  await joined;
  await link.ready(NEVER);
  await eventually('both statuses', () => link.status.connected === 2 * MEMBERS);
  await link.snapshots();
  link.start();
  const [first, second] = agents as [(typeof agents)[0], (typeof agents)[0]];
  await eventually('the start', () => second.heard.some(({ type }) => type === 'start'));
  return { ...test, link, wire, first, second };
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
    assert.deepEqual(
      rows.map(({ host, expected, received, reordered }) => [host, expected, received, reordered]).sort(),
      [
        ['a', MEMBERS, MEMBERS, 1],
        ['b', MEMBERS, MEMBERS, 1],
      ],
    );
    assert.deepEqual([link.unanswered, told.filter((text) => text.includes('lost'))], [0, []]);
  });

  it('when its host has done its work: the conductor still learns that it is not lost', async (t) => {
    const { hub, wire, told, first, second } = await loaded(t, 5000);
    wire.drop();
    const left = Promise.all([first.agent.bye(false), second.agent.bye(false)]);
    wire.mend();
    await left;
    await hub.left();
    assert.deepEqual(
      told.filter((text) => text.includes('lost')),
      [],
    );
  });

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
    const sum = (await link.snapshots()).map(({ accounts: { asked, alive, ended } }) => [asked, alive, ended]);
    assert.deepEqual(
      sum.sort((a, b) => Number(a[1]) - Number(b[1])),
      [
        [MEMBERS, 0, { 'agent lost': MEMBERS }],
        [MEMBERS, MEMBERS, {}],
      ],
    );
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
