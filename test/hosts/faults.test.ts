/**
 * Tests complete runs over two hosts in which a process dies or the network is cut. Checks findings and counts, and
 * that no process or connection remains.
 */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { FindingCode } from '../../protocol/codes/finding-codes.ts';
import type { Result } from '../../protocol/result/result.ts';
import { column, columns } from '../helpers/columns.ts';
import { assertNothingLeft, conductHosts, type HostsOptions, USERS } from '../helpers/conducted-hosts.ts';
import { CuttableLink } from '../helpers/cuttable-link.ts';
import { assertFoots } from '../helpers/foots.ts';
import { eventually } from '../helpers/poll.ts';
import type { HostProcess } from '../helpers/process.ts';
import { reasonsOfServer } from '../helpers/run.ts';

const AWAY_MS = 2000;
/** Drain options with a deadline that no run may reach. */
const DEADLINE = { quiet: 0.3, deadline: 60 };
const INVALID = 4;
/**
 * Findings that a lost host can cause. Other findings are about the measured server, which shares the process of these
 * tests.
 */
const OF_LOSS =
  /^(GENERATOR|FLEET|USERS|TARGET|HOSTS?|CONDUCTOR|RUN|ACCOUNTS|CONNECTIONS|CLIENTS|COPIES|BROADCASTS|DELIVERY|AUDIENCE|MESSAGES|PLATEAUS)_/;

type TwoHosts = Awaited<ReturnType<typeof twoHosts>>;

async function twoHosts(t: TestContext, options: Omit<HostsOptions, 'hosts'>) {
  const run = await conductHosts(t, { hosts: 2, ...options });
  /** Relay between the second host and the conductor. */
  const link = await CuttableLink.open(t, run.port);
  const hosts: [HostProcess, HostProcess] = [run.host(0), run.host(1, { port: link.port })];
  const outputs = () => [run, ...hosts].map(({ output }) => output()).join('\n---\n');
  return { run, hosts, link, outputs };
}

function reasonsOfLoss(result: Result): string[] {
  return reasonsOfServer(result).filter((code) => OF_LOSS.test(code));
}

/**
 * Asserts that the run continued with the first host alone, that all sums are correct, and that nothing remains.
 * @param also further findings that the loss can cause
 * @returns the result
 */
async function afterLoss({ run, hosts, outputs }: TwoHosts, also: FindingCode[] = []): Promise<Result> {
  assert.deepEqual([await run.ended, await hosts[0].ended], [INVALID, 0], outputs());
  await hosts[1].ended;
  const result = run.result();
  assert.ok(result, outputs());
  assertFoots(result, outputs());
  assert.ok(column(result.findings, 'code').includes('GENERATOR_SILENT'), outputs());
  // Allows only the loss, and findings that follow from it.
  const allowed = ['GENERATOR_SILENT', 'GENERATOR_FAILED', 'TARGET_NOT_REACHED', ...also];
  assert.ok(
    reasonsOfLoss(result).every((code) => allowed.includes(code)),
    outputs(),
  );
  const [first, second] = result.generators;
  assert.deepEqual([first?.connections, first?.held, first?.lost], [USERS, USERS, null], outputs());
  assert.deepEqual([second?.held, second?.lost], [0, `it has not answered for ${AWAY_MS / 1000} s`], outputs());
  const { connections: lost = 0 } = second ?? {};
  assert.deepEqual(result.connections.lost, lost > 0 ? { 'agent lost': lost } : {}, outputs());
  await assertNothingLeft(run, [run, ...hosts]);
  return result;
}

interface Loss {
  options: object;
  when(two: TwoHosts): Promise<unknown>;
  lose(two: TwoHosts): void;
  also?: FindingCode[];
  /** Minimum and maximum number of connections that the host opened. */
  opened?: [number, number];
  /**
   * Expected, received and lost copies, as multiples of a host's users. Lost copies are those of connected members,
   * then of disconnected members.
   */
  delivery: number[];
  ended?(two: TwoHosts): Promise<void>;
}

function deliveryOf({ delivery }: Result): number[] {
  const { expected = 0, received = 0, lostConnected = 0, lostDisconnected = 0 } = delivery ?? {};
  return [expected, received, lostConnected, lostDisconnected];
}

// Runs four tests at once, because they mostly wait.
describe('a host', { concurrency: 4 }, () => {
  it('a host that is cut off from the conductor for a moment loses nothing, and does not change the verdict', async (t) => {
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
    assert.deepEqual(reasonsOfLoss(result), [], outputs());
    assert.match(run.output(), /waiting for it[\s\S]* has reconnected/);
    assertFoots(result, outputs());
    assert.deepEqual(columns(result.generators, 'connections', 'held', 'lost'), {
      ...{ connections: [USERS, USERS], held: [USERS, USERS], lost: [null, null] },
    });
    assert.deepEqual(deliveryOf(result), [20 * USERS, 20 * USERS, 0, 0], outputs());
    await assertNothingLeft(run, [run, ...hosts]);
  });

  const losses: Record<string, Loss> = {
    'killed in the ramp loses its connections, and the run continues with the other host': {
      options: { warmUp: 0 },
      when: async ({ run }) => {
        await run.reached('ramp');
        await eventually('some connections', () => run.app.io.engine.clientsCount > USERS / 2);
      },
      // Kills only Artillery, like the kernel does when memory runs out.
      lose: ({ hosts }) => hosts[1].child.kill('SIGKILL'),
      also: ['PLATEAUS_UNUSABLE'],
      // On a busy machine, the host dies before it has reported any connection.
      opened: [0, USERS / 2],
      delivery: [3, 3, 0, 0],
    },
    'killed in the drain loses all copies that were sent to it, because its receipts are unknown': {
      options: { drain: { ...DEADLINE, quiet: 1 } },
      when: ({ run }) => run.reached('drain'),
      lose: ({ hosts }) => hosts[1].kill(),
      delivery: [6, 3, 0, 3],
    },
    'cut off permanently is lost with its receipts, closes its connections, and ends': {
      options: { broadcasts: { count: 10, interval: 0.2 } },
      when: ({ run }) => run.sent(2),
      lose: ({ link }) => link.cut(),
      delivery: [20, 10, 0, 10],
      ended: async ({ hosts }) => {
        assert.equal(await hosts[1].ended, INVALID, hosts[1].output());
        assert.match(hosts[1].output(), /CONDUCTOR_UNREACHABLE/);
      },
    },
  };
  for (const [what, { options, when, lose, also, opened = [USERS, USERS], delivery, ended }] of Object.entries(
    losses,
  )) {
    it(`a host ${what}`, async (t) => {
      const two = await twoHosts(t, { awayMs: AWAY_MS, options: { drain: DEADLINE, ...options } });
      await when(two);
      lose(two);
      const result = await afterLoss(two, also);
      await ended?.(two);
      const { connections = 0 } = result.generators[1] ?? {};
      const [min, max] = opened as [number, number];
      assert.ok(connections >= min && connections <= max, two.outputs());
      assert.deepEqual(
        deliveryOf(result),
        delivery.map((count) => count * USERS),
        two.outputs(),
      );
    });
  }

  it('a host closes its connections and ends if the conductor is killed', async (t) => {
    const { run, hosts, outputs } = await twoHosts(t, { awayMs: AWAY_MS });
    await run.reached('hold');
    run.kill();
    assert.deepEqual(await Promise.all(hosts.map(({ ended }) => ended)), [INVALID, INVALID], outputs());
    for (const { output } of hosts) assert.match(output(), /CONDUCTOR_UNREACHABLE: .* has not answered for 2 s/);
    await assertNothingLeft(run, [run, ...hosts]);
  });
});
