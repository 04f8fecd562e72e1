/** Whole runs over three hosts on this machine, without Artillery: conductor and hosts are processes of their own. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import type { LiveFigures } from '../../plugin/live/figures.ts';
import { type Result, resultSchema } from '../../protocol/result/result.ts';
import { startApp, TOKEN } from '../helpers/app.ts';
import { eventually } from '../helpers/poll.ts';

const CLI = join(import.meta.dirname, '../../plugin/hook/cli.js');
const HOST = join(import.meta.dirname, '../fixtures/generator-host.ts');
const HOSTS = 3;
const app = await startApp();
after(() => app.close());

function scenario(count = 3, byConnections = 0): object {
  const ramp = { duration: 2, arrivalRate: 15, rampTo: 15 };
  return {
    config: {
      target: app.url,
      plugins: {
        'socketio-capacity': {
          ...{ warmUp: 30, singleRoundTrips: 2, hold: 0.2, drain: { quiet: 0.3 } },
          broadcasts: { count, interval: 0.2, byConnections },
          control: { urls: [app.controlUrl], token: TOKEN },
        },
      },
      phases: [ramp, { pause: 2 }, ramp, { pause: 2 }],
    },
    scenarios: [
      { engine: 'socketio-capacity', flow: [{ emit: ['join_room', { clientKey: 'capacity' }] }, { hold: true }] },
    ],
  };
}

interface Started {
  child: ChildProcess;
  output(): string;
  ended: Promise<number | null>;
}

function start(t: TestContext, args: string[], folder: string, env: Record<string, string> = {}): Started {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, output: () => output, ended };
}

/** A conductor, and the variables of a host that joins it. */
/** The figures that the live page shows next. */
async function liveFigures(output: string): Promise<LiveFigures> {
  const url = /Live view: (\S+)/.exec(output)?.[1];
  const { body } = await fetch(`${url}events`);
  assert.ok(body, output);
  let text = '';
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    text += part;
    const [, data] = /^event: figures\ndata: (.*)\n\n/m.exec(text) ?? [];
    if (data !== undefined) return JSON.parse(data).figures;
  }
  throw new Error(`the page has no figures: ${text}`);
}

async function conductor(t: TestContext, script = scenario(), more: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'conduct-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'scenario.json'), JSON.stringify(script));
  const args = [CLI, 'conduct', '--hosts', String(HOSTS), '--listen', '127.0.0.1:0', 'scenario.json'];
  const run = start(t, args, folder, more);
  const line = () => /CAPACITY_CONDUCTOR='([^']+)'/.exec(run.output())?.[1];
  await eventually('the join line', () => line() !== undefined || run.child.exitCode !== null);
  const env = { CAPACITY_CONDUCTOR: line() ?? '', CAPACITY_HOSTS: String(HOSTS) };
  const host = (index: number, own: Record<string, string> = {}, file = 'scenario.json') =>
    start(t, [HOST, join(folder, file)], folder, { ...env, CAPACITY_HOST: String(index), ...own });
  const result = (): Result | undefined => {
    try {
      return resultSchema.parse(JSON.parse(readFileSync(join(folder, 'results/latest/result.json'), 'utf8')));
    } catch {
      return undefined;
    }
  };
  const reached = (stage: string) =>
    eventually(
      `stage ${stage}: ${run.output()}`,
      () => run.child.exitCode !== null || result()?.stages.some(({ name }) => name === stage),
      30_000,
    );
  return { ...run, folder, host, result, reached };
}

const codes = (result: Result | undefined) => result?.verdict.reasons.map(({ code }) => code) ?? [];

describe('a run over three hosts', () => {
  it('has one result, equal in counts to that of one host, with a row for each; and latency against connections', async (t) => {
    const run = await conductor(t, scenario(3, 2));
    const hosts = [0, 1, 2].map((index) => run.host(index));
    const exitCodes = await Promise.all([run.ended, ...hosts.map(({ ended }) => ended)]);
    const result = run.result();
    const outputs = [run, ...hosts].map(({ output }) => output()).join('\n---\n');
    assert.ok(result, outputs);
    assert.deepEqual(
      [result.connections.asked, result.connections.held, result.connections.failed],
      [60, 60, 0],
      outputs,
    );
    assert.deepEqual([result.delivery?.expected, result.delivery?.received], [180, 180]);
    assert.equal(result.latency.oneWayMs?.count, 180);
    assert.deepEqual(
      result.generators.map(({ connections, held }) => [connections, held]),
      [
        [20, 20],
        [20, 20],
        [20, 20],
      ],
    );
    assert.deepEqual(
      result.generators.map(({ clock, lost }) => [clock?.boundMs, lost]),
      Array(3).fill([0, null]),
    );
    const { byConnections } = result.latency;
    assert.deepEqual([byConnections.length, byConnections[0]?.connections], [4, 60], outputs);
    for (const { connections, expected, received, lost, broadcasts } of byConnections) {
      assert.deepEqual([received, lost], [expected, 0]);
      assert.equal(expected, connections * broadcasts);
    }
    const shares = byConnections.map(({ connections }) => Math.round((4 * connections) / 60));
    assert.deepEqual(shares, [4, 3, 2, 1], outputs);
    assert.equal(new Set(result.generator.map(({ host }) => host)).size, 3);
    assert.ok(
      result.generators.every(({ memory }) => memory.fleetPeakBytes > 1e6),
      outputs,
    );
    assert.deepEqual(exitCodes.slice(1), [0, 0, 0], outputs);
    assert.ok(['VALID', 'SUSPECT'].includes(result.verdict.status), outputs);
    assert.match(run.output(), /Hosts +3 with 20 connections each/);
  });

  it('that loses one goes on with the others, is INVALID, and counts what that one had as lost', async (t) => {
    const run = await conductor(t, scenario(20));
    const hosts = [0, 1, 2].map((index) => run.host(index));
    await run.reached('broadcasts');
    hosts[1]?.child.kill('SIGINT');
    assert.equal(await run.ended, 4, run.output());
    const result = run.result();
    assert.ok(codes(result).includes('AGENT_LOST'), run.output());
    assert.deepEqual(
      result?.generators.map(({ lost }) => lost !== null),
      [false, true, false],
    );
    assert.ok((result?.delivery?.lostDisconnected ?? 0) >= 20, JSON.stringify(result?.delivery));
    assert.deepEqual(await Promise.all([hosts[0]?.ended, hosts[2]?.ended]), [0, 0]);
  });

  it('that is stopped ends all hosts, and keeps what was measured; the live page shows each of them', async (t) => {
    const run = await conductor(t, scenario(50), { CAPACITY_LIVE: '1' });
    const hosts = [0, 1, 2].map((index) => run.host(index));
    await run.reached('broadcasts');
    const live = await liveFigures(run.output());
    assert.equal(new Set(live.hosts.map(({ name }) => name)).size, 3);
    for (const { lost, connections, loopLateMs, clockBoundMs } of live.hosts) {
      assert.deepEqual([lost, connections, clockBoundMs], [null, 20, 0]);
      assert.ok(loopLateMs >= 0);
    }
    run.child.kill('SIGINT');
    assert.equal(await run.ended, 130, run.output());
    assert.deepEqual(await Promise.all(hosts.map(({ ended }) => ended)), [130, 130, 130]);
    assert.ok(codes(run.result()).includes('RUN_INCOMPLETE'));
  });

  it('is refused when one has forgotten its share: all end, and no connection was made', async (t) => {
    const run = await conductor(t);
    const before = app.io.engine.clientsCount;
    const first = run.host(0);
    await eventually('the first host', () => / is here \(1 of 3\)/.test(run.output()));
    const hosts = [first, run.host(1, { CAPACITY_HOSTS: '', CAPACITY_HOST: '' })];
    assert.equal(await run.ended, 2, run.output());
    assert.match(run.output(), /HOSTS_DISAGREE: .*as one of 1 host, the conductor expects 3/);
    assert.deepEqual(await Promise.all(hosts.map(({ ended }) => ended)), [2, 2]);
    assert.equal(app.io.engine.clientsCount, before);
    assert.equal(run.result(), undefined);
  });
});
