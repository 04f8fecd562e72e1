/** Whole runs over two hosts, in which a process dies or the network is cut: who notices, what is counted, and that nothing is left. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { ReasonCode } from '../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../protocol/result/result.ts';
import { columns } from '../helpers/columns.ts';
import {
  assertFoots,
  assertNothingLeft,
  conductHosts,
  type HostsOptions,
  type HostsRun,
  type StartedProcess,
  USERS,
} from '../helpers/conducted-hosts.ts';
import { CuttableLink } from '../helpers/cuttable-link.ts';
import { eventually } from '../helpers/poll.ts';
import { reasonsOfServer } from '../helpers/run.ts';

const AWAY_MS = 2000;
/** No run may get there. */
const DEADLINE = { quiet: 0.3, deadline: 60 };
const INVALID = 4;

interface TwoHosts {
  run: HostsRun;
  hosts: [StartedProcess, StartedProcess];
  /** Between the second one and the conductor. */
  link: CuttableLink;
  outputs(): string;
}

async function twoHosts(t: TestContext, options: Omit<HostsOptions, 'hosts'>): Promise<TwoHosts> {
  const run = await conductHosts(t, { hosts: 2, ...options });
  const link = await CuttableLink.open(t, run.port);
  const hosts: TwoHosts['hosts'] = [run.host(0), run.host(1, { port: link.port })];
  const outputs = () => [run, ...hosts].map(({ output }) => output()).join('\n---\n');
  return { run, hosts, link, outputs };
}

/**
 * The run has gone on with the first host alone and has waited for nothing of the other, all sums are right, and nothing is left.
 * @param also may follow from the loss
 * @returns the result
 */
async function afterLoss({ run, hosts, outputs }: TwoHosts, also: ReasonCode[] = []): Promise<Result> {
  assert.deepEqual([await run.ended, await hosts[0].ended], [INVALID, 0], outputs());
  await hosts[1].ended;
  const result = run.result();
  assert.ok(result, outputs());
  assertFoots(result, outputs());
  const { reasons } = result.verdict;
  assert.ok(
    reasons.some(({ code }) => code === 'GENERATOR_SILENT'),
    outputs(),
  );
  // Nothing but the loss and what follows from it.
  const others = new Set<string>([
    'GENERATOR_SILENT',
    'CONNECTIONS_DROPPED',
    'CONNECTIONS_FAILED',
    'TARGET_NOT_REACHED',
    ...also,
  ]);
  assert.deepEqual(
    reasonsOfServer(result).filter((code) => !others.has(code)),
    [],
    outputs(),
  );
  const [first, second] = result.generators;
  assert.deepEqual([first?.connections, first?.held, first?.lost], [USERS, USERS, null], outputs());
  assert.deepEqual([second?.held, second?.lost], [0, `it has not answered for ${AWAY_MS / 1000} s`], outputs());
  const { connections: gone = 0 } = second ?? {};
  assert.deepEqual(result.connections.lost, gone > 0 ? { 'agent lost': gone } : {}, outputs());
  const [drained, ...more] = run.drains();
  assert.deepEqual([drained?.complete, drained?.outstanding, more], [true, 0, []], outputs());
  await assertNothingLeft(run, [run, ...hosts]);
  return result;
}

function deliveryOf({ delivery }: Result): number[] {
  const { expected = 0, received = 0, lostConnected = 0, lostDisconnected = 0 } = delivery ?? {};
  return [expected, received, lostConnected, lostDisconnected];
}

// They mostly wait.
describe('a host', { concurrency: 4 }, () => {
  it('cut off from the conductor until that is noticed: the run goes on, nothing is lost, and the verdict is as if nothing had been', async (t) => {
    const options = { broadcasts: { count: 10, interval: 0.2 } };
    const { run, hosts, link, outputs } = await twoHosts(t, { options });
    await run.sent(2);
    link.cut();
    await eventually('the conductor waits for it', () => /does not answer; waiting for it/.test(run.output()));
    link.mend();
    const [exitCode, ...ends] = await Promise.all([run, ...hosts].map(({ ended }) => ended));
    assert.deepEqual(ends, [0, 0], outputs());
    const result = run.result();
    assert.ok(result && [0, 3].includes(exitCode ?? -1), outputs());
    assert.deepEqual(reasonsOfServer(result), [], outputs());
    assert.match(run.output(), /waiting for it[\s\S]* is back/);
    assertFoots(result, outputs());
    assert.deepEqual(columns(result.generators, 'connections', 'held', 'lost'), {
      ...{ connections: [USERS, USERS], held: [USERS, USERS], lost: [null, null] },
    });
    assert.deepEqual(deliveryOf(result), [20 * USERS, 20 * USERS, 0, 0], outputs());
    await assertNothingLeft(run, [run, ...hosts]);
  });

  it('killed before the load ends the run, which has no result', async (t) => {
    const two = await twoHosts(t, { awayMs: AWAY_MS });
    const { run, hosts, outputs } = two;
    await eventually('both hosts', () => run.output().includes('(2 of 2)') || run.child.exitCode !== null);
    hosts[1].kill();
    assert.deepEqual([await run.ended, await hosts[0].ended], [2, 2], outputs());
    assert.match(run.output(), /HOSTS_MISSING: .* is gone/);
    assert.equal(run.result(), undefined);
    await assertNothingLeft(run, [run, ...hosts]);
  });

  it('killed in the ramp takes with it what it had opened; its fleet ends by itself, and the others go on', async (t) => {
    const two = await twoHosts(t, { awayMs: AWAY_MS, options: { warmUp: 0, drain: DEADLINE } });
    const { run, hosts, outputs } = two;
    await run.reached('ramp');
    await eventually('some connections', () => run.app.io.engine.clientsCount > USERS / 2);
    // Artillery alone, as the kernel does for its memory.
    hosts[1].child.kill('SIGKILL');
    // The plateau waits for it, until the next ramp begins.
    const result = await afterLoss(two, ['PLATEAU_MOVED', 'TOO_FEW_PLATEAUS']);
    const opened = result.generators[1]?.connections ?? 0;
    assert.ok(opened > 0 && opened <= USERS / 2, outputs());
    assert.deepEqual(deliveryOf(result), [3 * USERS, 3 * USERS, 0, 0], outputs());
  });

  it('killed while all is held loses all it had, and is no receiver of what is sent after it', async (t) => {
    const two = await twoHosts(t, { awayMs: AWAY_MS, options: { hold: 1, drain: DEADLINE } });
    await two.run.reached('hold');
    two.hosts[1].kill();
    const result = await afterLoss(two);
    assert.equal(result.generators[1]?.connections, USERS, two.outputs());
    assert.deepEqual(deliveryOf(result), [3 * USERS, 3 * USERS, 0, 0], two.outputs());
  });

  it('killed in the drain loses all that was sent to it, since nobody knows what it got', async (t) => {
    const two = await twoHosts(t, { awayMs: AWAY_MS, options: { drain: { ...DEADLINE, quiet: 1 } } });
    await two.run.reached('drain');
    two.hosts[1].kill();
    const result = await afterLoss(two);
    assert.equal(result.generators[1]?.connections, USERS, two.outputs());
    assert.deepEqual(deliveryOf(result), [6 * USERS, 3 * USERS, 0, 3 * USERS], two.outputs());
  });

  it('cut off for good: it is lost with what it received, closes its connections, and ends', async (t) => {
    const options = { broadcasts: { count: 10, interval: 0.2 }, drain: DEADLINE };
    const two = await twoHosts(t, { awayMs: AWAY_MS, options });
    const { run, hosts, link, outputs } = two;
    await run.sent(2);
    link.cut();
    const result = await afterLoss(two);
    assert.equal(await hosts[1].ended, INVALID, outputs());
    assert.match(hosts[1].output(), /CONDUCTOR_UNREACHABLE/);
    assert.equal(result.generators[1]?.connections, USERS, outputs());
    assert.deepEqual(deliveryOf(result), [20 * USERS, 10 * USERS, 0, 10 * USERS], outputs());
  });

  it('whose conductor is killed: all hosts close their connections, and end', async (t) => {
    const { run, hosts, outputs } = await twoHosts(t, { awayMs: AWAY_MS });
    await run.reached('hold');
    run.kill();
    assert.deepEqual(await Promise.all(hosts.map(({ ended }) => ended)), [INVALID, INVALID], outputs());
    for (const { output } of hosts) assert.match(output(), /CONDUCTOR_UNREACHABLE: .* has not answered for 2 s/);
    await assertNothingLeft(run, [run, ...hosts]);
  });
});
