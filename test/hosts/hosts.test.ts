/**
 * Tests three generator hosts, two worker hosts and a conductor. They are Linux namespaces whose clocks are days apart.
 * The second host has a delay to the target in both directions, the third host only in the direction from the
 * conductor.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { TOKEN } from '../helpers/app.ts';
import { assertEach } from '../helpers/columns.ts';
import { type NamespaceHost, NamespaceNetwork, startWorker, whyNoNamespaces } from '../helpers/namespaces.ts';
import { eventually } from '../helpers/poll.ts';
import type { HostProcess } from '../helpers/process.ts';
import { latestResult, quickScript, reasonsOfServer } from '../helpers/run.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const ROOT = join(import.meta.dirname, '../..');
const NODE = [process.execPath, '--disable-warning=ExperimentalWarning'];
const DAY = 86_400;
const BROADCASTS = 10;
const USERS = 300;
const LIMIT_MS = 60_000;
/** Address of the load balancer. It is in no host's network, so that a relay on a host can have the same address. */
const TARGET = '10.98.0.1';
const DELAY_MS = 20;

function scenario(target: string, controls: string[]): object {
  const ramp = { duration: 2, arrivalRate: 75, rampTo: 75 };
  const phases = [ramp, { pause: 2 }, ramp, { pause: 2 }];
  const control = { urls: controls, token: TOKEN };
  const broadcasts = { count: BROADCASTS, interval: 0.2 };
  return quickScript({ target, phases }, { warmUp: 30, hold: 1, drain: { quiet: 0.5 }, broadcasts, control });
}

interface Relay {
  host: string;
  port: number;
  /** Targets as `host:port`. */
  to: string[];
  downMs?: number;
  upMs?: number;
}

async function relay(host: NamespaceHost, config: Relay): Promise<void> {
  await host.start([...NODE, join(ROOT, 'test/fixtures/relay.mjs'), JSON.stringify(config)]).said(/listening/);
}

/** Starts Redis, two workers with a load balancer, and a conductor that waits for three hosts. */
async function deployment(t: TestContext) {
  const folder = tempFolder(t);
  const network = new NamespaceNetwork(t);
  const front = network.host('front', 0);
  const open = ['--bind', '0.0.0.0', '--protected-mode', 'no', '--save', '', '--dir', folder];
  await front.start(['redis-server', ...open]).said(/Ready to accept connections/);
  const workers = [1, 4].map((days, index) => network.host(`worker-${index}`, days * DAY));
  const env = { REDIS_URL: `redis://${front.address}:6379` };
  await Promise.all(workers.map((host, index) => startWorker(host, `w${index}`, env)));
  const to = workers.map(({ address }) => `${address}:8080`);
  await relay(front, { host: '0.0.0.0', port: 8000, to });
  front.ip('address', 'add', `${TARGET}/32`, 'dev', 'lo');
  const file = join(folder, 'scenario.json');
  const controls = workers.map(({ address }) => `http://${address}:9090`);
  writeFileSync(file, JSON.stringify(scenario(`http://${TARGET}:8000`, controls)));
  const leadToTarget = (host: NamespaceHost) => host.ip('route', 'add', TARGET, 'via', front.address);
  const conductorHost = network.host('conductor', 2 * DAY);
  leadToTarget(conductorHost);
  const listen = `${conductorHost.address}:3401`;
  const cli = join(ROOT, 'plugin/hook/cli.js');
  const conductor = conductorHost.start([...NODE, cli, 'conduct', '--hosts', '3', '--listen', listen, file], {
    CAPACITY_RESULTS: join(folder, 'results'),
  });
  const [, joinToken = ''] = await conductor.said(/CAPACITY_CONDUCTOR='([^']+)'/);
  const bring = async (days: number, index: number) => {
    const host = network.host(`load-${index}`, days * DAY);
    if (index === 1) {
      const way = { downMs: DELAY_MS, upMs: DELAY_MS };
      host.ip('address', 'add', `${TARGET}/32`, 'dev', 'lo');
      await relay(host, { host: TARGET, port: 8000, to: [`${front.address}:8000`], ...way });
    } else leadToTarget(host);
    let ownToken = joinToken;
    if (index === 2) {
      const way = { downMs: DELAY_MS, upMs: 0 };
      await relay(host, { host: '127.0.0.1', port: 3402, to: [listen], ...way });
      ownToken = ownToken.replace(listen, '127.0.0.1:3402');
    }
    const env = { CAPACITY_CONDUCTOR: ownToken, CAPACITY_HOSTS: '3' };
    return host.start([...NODE, join(ROOT, 'test/fixtures/generator-host.ts'), file], env);
  };
  const hosts = await Promise.all([0, 3, 5].map(bring));
  const result = () => latestResult(join(folder, 'results'));
  const outputs = () => [conductor, ...hosts].map(({ output }) => output()).join('\n---\n');
  /** Waits until the processes have ended, and returns their exit codes. */
  const ends = async (processes: HostProcess[]) => {
    await eventually('the end', () => processes.every(({ child }) => child.exitCode !== null), LIMIT_MS, outputs);
    return Promise.all(processes.map(({ ended }) => ended));
  };
  return { conductor, hosts, result, outputs, ends };
}

describe('hosts as namespaces', { skip: whyNoNamespaces(), timeout: 180_000 }, () => {
  it('several hosts share one load, and have one result with every receipt and the network delays', async (t) => {
    const { conductor, hosts, result: read, outputs, ends } = await deployment(t);
    await ends([conductor]);
    const result = read();
    assert.ok(result, outputs());
    assert.deepEqual(reasonsOfServer(result, ['CLOCK_UNCERTAIN']), ['CLOCK_UNCERTAIN'], outputs());
    const uncertain = result.findings.find(({ code }) => code === 'CLOCK_UNCERTAIN');
    assert.match(uncertain?.message ?? '', /generator host load-2 is known to ± \d+\.\d ms/);
    const { connections, delivery, latency, generators } = result;
    assert.deepEqual([connections.asked, connections.held, connections.failed], [USERS, USERS, 0]);
    assert.deepEqual(Object.values(connections.perWorker).sort(), [150, 150]);
    assert.deepEqual([delivery?.expected, delivery?.received], [USERS * BROADCASTS, USERS * BROADCASTS]);
    // Only the host with the most uncertain clock can count copies as received before they were sent.
    assert.ok((delivery?.early ?? Infinity) <= (USERS / 3) * BROADCASTS && delivery?.unexpected === 0, outputs());
    assert.equal(latency.oneWayMs?.count, USERS * BROADCASTS);
    assert.ok((latency.oneWayMs?.max ?? Infinity) < 5000, JSON.stringify(latency.oneWayMs));
    assertEach(generators, ({ host, held }) => [host, held], [
      ['load-0', 100],
      ['load-1', 100],
      ['load-2', 100],
    ]);
    const workersMs = Math.max(...latency.clocks.map(({ uncertaintyUs }) => uncertaintyUs)) / 1000;
    const details = JSON.stringify({ generators, workersMs });
    const found = generators.map(({ oneWayMs, clock, startSkewMs, loops }, index) => {
      assert.ok(oneWayMs && clock && loops, details);
      assert.ok((startSkewMs ?? Infinity) <= 20 + clock.boundMs + loops.delayMaxMs, details);
      const errorMs = Math.abs(clock.offsetMs - ([2, -1, -3][index] ?? 0) * DAY * 1000);
      assert.ok(errorMs <= clock.boundMs + 1, details);
      assert.ok(clock.boundMs > 0 && (index === 2 || clock.boundMs < 20), details);
      return { ...oneWayMs, errorMs, boundMs: clock.boundMs + workersMs };
    });
    const [direct, slow, lopsided] = found as [(typeof found)[0], (typeof found)[0], (typeof found)[0]];
    // The delay is the minimum of the latency. The rest depends on the machine, like the latencies without delay.
    assert.ok(slow.p50 >= DELAY_MS - slow.boundMs, details);
    assert.ok(slow.p50 <= DELAY_MS + direct.max + direct.boundMs + slow.boundMs, details);
    assert.ok(lopsided.p50 <= direct.max + direct.boundMs + lopsided.boundMs, details);
    // Round trips cannot detect half of the difference between both directions.
    assert.ok(lopsided.errorMs >= DELAY_MS / 2 - 2, details);
    assert.deepEqual(await ends(hosts), [0, 0, 0], outputs());
  });
});
