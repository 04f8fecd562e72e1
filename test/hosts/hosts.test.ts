/** Three generator hosts, two worker hosts and a conductor, as Linux namespaces whose clocks are days apart. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { RelayConfig } from '../../bench/calibrate/relay.ts';
import { TOKEN } from '../helpers/app.ts';
import { assertEach } from '../helpers/columns.ts';
import { type NamespaceHost, NamespaceNetwork, whyNoNamespaces } from '../helpers/namespaces.ts';
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
/** Of the load balancer, in no network of a host, so that a host can have it, too: of a relay. */
const TARGET = '10.98.0.1';
const DELAY_MS = 20;

/** Indices of hosts. */
interface Delays {
  /** Whose way to the target takes longer, there and back. */
  target?: number;
  /** To whom it takes longer from the conductor, and not back. */
  conductor?: number;
}

function scenario(target: string, controls: string[]): object {
  const ramp = { duration: 2, arrivalRate: 75, rampTo: 75 };
  const phases = [ramp, { pause: 2 }, ramp, { pause: 2 }];
  const control = { urls: controls, token: TOKEN };
  const broadcasts = { count: BROADCASTS, interval: 0.2 };
  return quickScript({ target, phases }, { warmUp: 30, hold: 1, drain: { quiet: 0.5 }, broadcasts, control });
}

/** Redis, two workers and what balances between them; a conductor that waits for three hosts. */
async function deployment(t: TestContext, delays: Delays = {}) {
  const folder = tempFolder(t);
  const network = new NamespaceNetwork(t);
  const front = network.host('front', 0);
  const open = ['--bind', '0.0.0.0', '--protected-mode', 'no', '--save', '', '--dir', folder];
  await front.start(['redis-server', ...open]).said(/Ready to accept connections/);
  const workers = [1, 4].map((days, index) => {
    const host = network.host(`worker-${index}`, days * DAY);
    const env = {
      ...{ CAPACITY_HOST: '0.0.0.0', CAPACITY_PORT: '8080', CAPACITY_CONTROL_HOST: '0.0.0.0' },
      ...{ CAPACITY_CONTROL_PORT: '9090', CAPACITY_TOKEN: TOKEN, CAPACITY_WORKER: `w${index}` },
      REDIS_URL: `redis://${front.address}:6379`,
    };
    return { ...host, process: host.start([...NODE, '--expose-gc', join(ROOT, 'server/main.ts')], env) };
  });
  for (const { process } of workers) await process.said(/worker is up/);
  const balancer = join(ROOT, 'test/fixtures/balancer.mjs');
  await front.start([...NODE, balancer, '8000', ...workers.map(({ address }) => `${address}:8080`)]).said(/listening/);
  front.ip('address', 'add', `${TARGET}/32`, 'dev', 'lo');
  const file = join(folder, 'scenario.json');
  const controls = workers.map(({ address }) => `http://${address}:9090`);
  writeFileSync(file, JSON.stringify(scenario(`http://${TARGET}:8000`, controls)));
  const relay = async (host: NamespaceHost, config: Omit<RelayConfig, 'host'> & { host: string }) => {
    if (config.host === TARGET) host.ip('address', 'add', `${TARGET}/32`, 'dev', 'lo');
    await host.start([...NODE, join(ROOT, 'bench/calibrate/relay.ts'), JSON.stringify(config)]).said(/url/);
  };
  const leadToTarget = (host: NamespaceHost) => host.ip('route', 'add', TARGET, 'via', front.address);
  const conductorHost = network.host('conductor', 2 * DAY);
  leadToTarget(conductorHost);
  const listen = `${conductorHost.address}:3401`;
  const cli = join(ROOT, 'plugin/hook/cli.js');
  const conductor = conductorHost.start([...NODE, cli, 'conduct', '--hosts', '3', '--listen', listen, file], {
    CAPACITY_RESULTS: join(folder, 'results'),
  });
  const [, line = ''] = await conductor.said(/CAPACITY_CONDUCTOR='([^']+)'/);
  const bring = async (days: number, index: number) => {
    const host = network.host(`load-${index}`, days * DAY);
    if (delays.target === index) {
      const way = { downMs: DELAY_MS, upMs: DELAY_MS };
      await relay(host, { host: TARGET, port: 8000, toHost: front.address, toPort: 8000, ...way });
    } else leadToTarget(host);
    let joinLine = line;
    if (delays.conductor === index) {
      const way = { downMs: DELAY_MS, upMs: 0 };
      await relay(host, { host: '127.0.0.1', port: 3402, toHost: conductorHost.address, toPort: 3401, ...way });
      joinLine = joinLine.replace(listen, '127.0.0.1:3402');
    }
    const env = { CAPACITY_CONDUCTOR: joinLine, CAPACITY_HOSTS: '3' };
    return host.start([...NODE, join(ROOT, 'test/fixtures/generator-host.ts'), file], env);
  };
  const hosts = await Promise.all([0, 3, 5].map(bring));
  const result = () => latestResult(join(folder, 'results'));
  const outputs = () => [conductor, ...hosts].map(({ output }) => output()).join('\n---\n');
  /** @returns exit codes */
  const ends = async (processes: HostProcess[]) => {
    await eventually('the end', () => processes.every(({ child }) => child.exitCode !== null), LIMIT_MS).catch(
      (error) => {
        throw new Error(`${error.message}; stages: ${JSON.stringify(result()?.stages)}\n${outputs()}`);
      },
    );
    return Promise.all(processes.map(({ ended }) => ended));
  };
  return { conductor, hosts, result, outputs, ends };
}

describe('hosts as namespaces', { skip: whyNoNamespaces(), timeout: 180_000, concurrency: 2 }, () => {
  it('bring one load, and one result: every receipt accounted for, on clocks that are days apart', async (t) => {
    const { conductor, hosts, result: read, outputs, ends } = await deployment(t);
    const [exitCode] = await ends([conductor]);
    const result = read();
    assert.ok(result, outputs());
    assert.deepEqual(reasonsOfServer(result), [], outputs());
    assert.ok([0, 3].includes(exitCode ?? -1), outputs());
    const { connections, delivery, latency, generators } = result;
    assert.deepEqual([connections.asked, connections.held, connections.failed], [USERS, USERS, 0]);
    assert.deepEqual(Object.values(connections.perWorker).sort(), [150, 150]);
    assert.deepEqual([delivery?.expected, delivery?.received], [USERS * BROADCASTS, USERS * BROADCASTS]);
    assert.deepEqual([delivery?.early, delivery?.unexpected], [0, 0]);
    assert.equal(latency.oneWayMs?.count, USERS * BROADCASTS);
    // A day is 86,400,000 ms.
    assert.ok((latency.oneWayMs?.max ?? Infinity) < 5000, JSON.stringify(latency.oneWayMs));
    assertEach(generators, ({ host, held }) => [host, held], [
      ['load-0', 100],
      ['load-1', 100],
      ['load-2', 100],
    ]);
    for (const [index, { clock, startSkewMs, loops }] of generators.entries()) {
      assert.ok((startSkewMs ?? Infinity) <= 20 + (loops?.delayMaxMs ?? 0), JSON.stringify(generators));
      const days = [2, -1, -3][index] as number;
      assert.ok(
        Math.abs((clock?.offsetMs ?? 0) - days * DAY * 1000) <= (clock?.boundMs ?? 0) + 1,
        JSON.stringify(clock),
      );
      assert.ok((clock?.boundMs ?? 0) > 0 && (clock?.boundMs ?? 0) < 20, JSON.stringify(clock));
    }
    assert.deepEqual(await ends(hosts), [0, 0, 0], outputs());
  });

  it('have slow ways: to the target it is found in the latencies; lopsided to the conductor it is within the bound, and said', async (t) => {
    const { conductor, hosts, result: read, outputs, ends } = await deployment(t, { target: 1, conductor: 2 });
    await ends([conductor]);
    const result = read();
    assert.ok(result, outputs());
    assert.deepEqual(reasonsOfServer(result, ['CLOCK_UNCERTAIN']), ['CLOCK_UNCERTAIN'], outputs());
    const uncertain = result.verdict.reasons.find(({ code }) => code === 'CLOCK_UNCERTAIN');
    assert.match(uncertain?.message ?? '', /generator host load-2 is known to ± \d+\.\d ms/);
    const { delivery, generators } = result;
    assert.deepEqual([delivery?.expected, delivery?.received], [USERS * BROADCASTS, USERS * BROADCASTS]);
    const latencies = generators.map(({ oneWayMs }) => oneWayMs ?? assert.fail(outputs()));
    const clocks = generators.map(({ clock }) => clock ?? assert.fail(outputs()));
    const [direct, slow, lopsided] = latencies as [(typeof latencies)[0], (typeof latencies)[0], (typeof latencies)[0]];
    const workersUs = Math.max(...result.latency.clocks.map(({ uncertaintyUs }) => uncertaintyUs));
    const bounds = clocks.map(({ boundMs }) => boundMs + workersUs / 1000);
    const told = JSON.stringify({ latencies, clocks, workersUs });
    // The delay is the least; how much more it is depends on the machine, as the direct ones do.
    assert.ok(slow.p50 >= DELAY_MS - (bounds[1] ?? 0), told);
    assert.ok(slow.p50 <= DELAY_MS + direct.max + (bounds[0] ?? 0) + (bounds[1] ?? 0), told);
    assert.ok(lopsided.p50 <= direct.max + (bounds[0] ?? 0) + (bounds[2] ?? 0), told);
    // Half of the difference between the ways is what round trips cannot see.
    const [, , { offsetMs, boundMs }] = clocks as [(typeof clocks)[0], (typeof clocks)[0], (typeof clocks)[0]];
    const errorMs = Math.abs(offsetMs - -3 * DAY * 1000);
    assert.ok(errorMs >= DELAY_MS / 2 - 2 && errorMs <= boundMs, told);
    assert.deepEqual(await ends(hosts), [0, 0, 0], outputs());
  });
});
