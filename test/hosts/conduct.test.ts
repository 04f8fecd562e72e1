/**
 * Tests complete runs over several hosts on this machine, without Artillery. Conductor and hosts are separate
 * processes.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { execa } from 'execa';
import type { LiveFigures } from '../../plugin/live/live-figures.ts';
import type { Result } from '../../protocol/result/result.ts';
import { TOKEN } from '../helpers/app.ts';
import { assertEach } from '../helpers/columns.ts';
import { assertNothingLeft, conductHosts, runAlone, USERS } from '../helpers/conducted-hosts.ts';
import { assertFoots } from '../helpers/foots.ts';
import { ROOT } from '../helpers/pages.ts';
import { quickScript } from '../helpers/run.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const codes = (result: Result | undefined) => result?.findings.map(({ code }) => code) ?? [];

/** Returns the counts of a result without its measured values. */
function countsOf({ connections, delivery }: Result): object {
  const { target, peak, asked, opened, held, failed, lost, disconnects, perWorker, transports } = connections;
  const batches = delivery?.batches.map(
    ({ t, sendDelayMs, firstMs, p50Ms, p99Ms, lastMs, dueToLastMs, earlyByMs, ...counts }) => counts,
  );
  const { source, event, late, unreadable, unknownBroadcast, frames, coverage, coverageOfTarget } = delivery ?? {};
  return {
    ...{ target, peak, asked, opened, held, failed, lost, disconnects, workers: Object.values(perWorker), transports },
    ...{ batches, source, event, late, unreadable, unknownBroadcast, frames, coverage, coverageOfTarget },
  };
}

/** Returns the next figures of the live page. */
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

describe('a run over several hosts', { concurrency: 2 }, () => {
  it('a run over several hosts has one result with the counts of a run on one host, and a row for each host', async (t) => {
    const all = 3 * USERS;
    const conditions = [`vusers.created < ${all}`, `connections.peak == ${all}`].map((expression) => ({ expression }));
    const options = { hosts: 3, options: { broadcasts: { count: 10, interval: 0.2 } }, ensure: { conditions } };
    const alone = await runAlone(t, options);
    const aloneEnded = alone.ended;
    const run = await conductHosts(t, options);
    const hosts = [0, 1, 2].map((index) => run.host(index));
    const exitCodes = await Promise.all([run.ended, ...hosts.map(({ ended }) => ended)]);
    await aloneEnded;
    const [result, single] = [run.result(), alone.result()];
    const outputs = [run, ...hosts, alone].map(({ output }) => output()).join('\n---\n');
    assert.ok(result && single, outputs);
    assert.deepEqual(countsOf(result), countsOf(single), outputs);
    assertFoots(result, outputs);
    assert.deepEqual([result.connections.asked, result.connections.held], [all, all], outputs);
    assert.deepEqual([result.delivery?.expected, result.delivery?.received], [10 * all, 10 * all], outputs);
    assert.equal(result.latency.oneWayMs?.count, 10 * all);
    assertEach(
      result.generators,
      ({ connections, held, failed, arrivals }) => [connections, held, failed, arrivals],
      Array(3).fill([USERS, USERS, 0, USERS]),
    );
    assertEach(result.generators, ({ clock, lost }) => [clock?.boundMs, lost], Array(3).fill([0, null]));
    assert.equal(new Set(result.generator.map(({ host }) => host)).size, 3);
    assert.deepEqual(exitCodes, [1, 0, 0, 0], outputs);
    assert.ok(['VALID', 'SUSPECT'].includes(result.verdict.status), outputs);
    assertEach(result.thresholds, ({ met }) => met, [false, true]);
    assert.equal(result.outcome.status, 'FAILED');
    await assertNothingLeft(run, [run, ...hosts]);
  });

  it('a run over several hosts continues if one host is stopped, is INVALID, and counts its connections as lost', async (t) => {
    const run = await conductHosts(t, { hosts: 2, options: { broadcasts: { count: 20, interval: 0.2 } } });
    const hosts = [0, 1].map((index) => run.host(index));
    await run.sent(2);
    hosts[1]?.child.kill('SIGINT');
    assert.equal(await run.ended, 4, run.output());
    const result = run.result();
    assert.ok(result && codes(result).includes('GENERATOR_SILENT'), run.output());
    assertEach(result.generators, ({ held, lost }) => [held, lost !== null], [
      [USERS, false],
      [0, true],
    ]);
    assert.deepEqual(result.connections.lost, { 'agent lost': USERS }, run.output());
    // Only broadcasts before the stop count.
    const lost = result.delivery?.lostDisconnected ?? 0;
    assert.ok(lost >= 2 * USERS && lost < 20 * USERS, JSON.stringify(result.delivery));
    assert.deepEqual(await Promise.all(hosts.map(({ ended }) => ended)), [0, 130]);
    await assertNothingLeft(run, [run, ...hosts]);
  });

  it('a run over several hosts ends all hosts when it is stopped, and keeps the measurements', async (t) => {
    const options = { broadcasts: { count: 50, interval: 0.2 } };
    const run = await conductHosts(t, { hosts: 2, options, env: { CAPACITY_LIVE: '1' } });
    const hosts = [0, 1].map((index) => run.host(index));
    await run.reached('broadcasts');
    const live = await liveFigures(run.output());
    assert.equal(new Set(live.hosts.map(({ name }) => name)).size, 2);
    for (const { lost, connections, loopLateMs, clockBoundMs } of live.hosts) {
      assert.deepEqual([lost, connections, clockBoundMs], [null, USERS, 0]);
      assert.ok(loopLateMs >= 0);
    }
    run.child.kill('SIGINT');
    assert.equal(await run.ended, 130, run.output());
    const exitCodes = await Promise.all(hosts.map(({ ended }) => ended));
    assert.deepEqual(exitCodes, [130, 130], [run, ...hosts].map(({ output }) => output()).join('\n'));
    assert.ok(codes(run.result()).includes('RUN_INCOMPLETE'));
    await assertNothingLeft(run, [run, ...hosts]);
  });

  it('a run over several hosts ends if its hosts cannot be started, instead of waiting for them', async (t) => {
    const folder = tempFolder(t);
    writeFileSync(join(folder, 'scenario.json'), JSON.stringify(quickScript()));
    const args = ['--hosts', '2', '--listen', '127.0.0.1:0', '--on', 'command:exit 3', 'scenario.json'];
    const { exitCode, all } = await execa(process.execPath, [join(ROOT, 'plugin/hook/cli.js'), 'conduct', ...args], {
      ...{ cwd: folder, all: true, reject: false, timeout: 60_000 },
      env: { CAPACITY_TOKEN: TOKEN, CAPACITY_CONTROL: 'http://127.0.0.1:1' },
    });
    assert.equal(exitCode, 2, all);
    assert.match(all, /START_FAILED: .* ended with exit code 3/);
  });
});
