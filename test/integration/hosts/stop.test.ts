/** Tests that a conductor which is stopped at any time ends, and leaves no process or file. */
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { conductHosts } from '../../../plugin/conduct/hosts/conduct-hosts.ts';
import type { HostAgent } from '../../../plugin/conduct/hosts/generator-host.ts';
import { type JoinAddress, parseJoinToken } from '../../../plugin/conduct/hosts/join-token.ts';
import { arrivalsOf } from '../../../plugin/script/load/phases.ts';
import { digestRunInputs } from '../../../plugin/script/run-inputs.ts';
import { ownRelease } from '../../../protocol/base/release.ts';
import { TOKEN } from '../../helpers/app.ts';
import { CLI } from '../../helpers/cli.ts';
import { newAgent } from '../../helpers/hosts.ts';
import { hookConfig } from '../../helpers/measurements.ts';
import { PEM } from '../../helpers/pem.ts';
import { eventually } from '../../helpers/poll.ts';
import { startProcess } from '../../helpers/process.ts';
import { quickScript } from '../../helpers/run.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

/** Starts a conductor in this process. Hosts join only through `host`. */
function conductor(t: TestContext, hosts: number, secret?: string) {
  const printed: string[] = [];
  t.mock.method(console, 'log', (text: string) => printed.push(text));
  t.mock.method(console, 'error', (text: string) => printed.push(text));
  const stop = new AbortController();
  const results = tempFolder(t);
  const config = hookConfig({ results }, {});
  const run = () =>
    conductHosts({
      ...{
        script: { config: {} },
        config,
        path: 'a.yml',
        artilleryVersion: 'none',
        artillery: '',
        hosts,
      },
      ...{ listen: { host: '127.0.0.1', port: 0 }, address: '127.0.0.1', secret },
      signal: stop.signal,
    });
  const joinToken = () => /CAPACITY_CONDUCTOR='([^']+)'/.exec(printed.join('\n'))?.[1];
  /** Starts a host and waits until the conductor admits it. */
  const host = async () => {
    const join = parseJoinToken((await eventually('the join token', joinToken)) ?? '') as JoinAddress;
    const inputs = digestRunInputs({ config: {} }, process.env);
    const hello = { version: ownRelease(), inputs, arrivals: config.phases.map(arrivalsOf), hosts };
    const { agent } = newAgent(t, join, hello);
    await agent.join();
    return agent;
  };
  return { run, stop: () => stop.abort(), printed, joinToken, results, host };
}

type Test = ReturnType<typeof conductor>;

const MOMENTS: Record<string, (test: Test) => Promise<void>> = {
  'before it starts': async ({ stop }) => stop(),
  'while it generates its secret': async ({ stop }) => queueMicrotask(stop),
  'while it starts to listen': async ({ stop }) => {
    await setImmediate();
    stop();
  },
  'after it has printed the join token': async ({ stop, joinToken }) => {
    await eventually('the join token', joinToken);
    stop();
  },
};

for (const [moment, act] of Object.entries(MOMENTS)) {
  it(`the conductor ends without results if stopped ${moment}`, async (t) => {
    const test = conductor(t, 2);
    if (moment === 'before it starts') test.stop();
    const ended = test.run();
    await act(test);
    assert.equal(await ended, 130);
    assert.doesNotMatch(test.printed.join('\n'), /UNEXPECTED|report it/);
    assert.equal(existsSync(test.results), false);
  });
}

const LEAVING: Record<string, (agent: HostAgent) => Promise<void>> = {
  'is stopped by Ctrl-C': (agent) => agent.bye(true),
  'is killed': (agent) => agent.close(),
};

for (const [how, leave] of Object.entries(LEAVING)) {
  it(`the conductor exits with code 2 if a host ${how} before all hosts have joined`, async (t) => {
    const { run, host, printed, results } = conductor(t, 2);
    const ended = run();
    const agent = await host();
    await leave(agent);
    assert.equal(await ended, 2);
    await agent.close();
    assert.match(printed.join('\n'), /HOSTS_MISSING: host .* is lost/);
    assert.equal(existsSync(results), false);
  });
}

it('the conductor does not print the join token of a secret that it was given', async (t) => {
  const folder = tempFolder(t);
  writeFileSync(join(folder, 'token'), TOKEN);
  writeFileSync(join(folder, 'tls.crt'), PEM.cert);
  writeFileSync(join(folder, 'tls.key'), PEM.key);
  const { run, stop, printed } = conductor(t, 2, folder);
  const ended = run();
  await eventually('the conductor waits', () => printed.some((text) => text.includes('Waiting for 2 hosts')));
  stop();
  assert.equal(await ended, 130);
  assert.doesNotMatch(printed.join('\n'), new RegExp(TOKEN));
});

it('the conductor does not wait for its launch command if it is stopped twice', async (t) => {
  const folder = tempFolder(t);
  const { config, scenarios } = quickScript();
  const phases = [{ duration: 1, arrivalRate: 1 }];
  const own = { target: 'http://127.0.0.1:1', engines: config.engines, phases };
  writeFileSync(join(folder, 'a.json'), JSON.stringify({ config: own, scenarios }));
  const stubborn = `command:trap '' INT TERM; echo "launched $$"; while :; do sleep 1; done`;
  const args = [CLI, 'conduct', '--hosts', '1', '--listen', '127.0.0.1:0', '--on', stubborn, 'a.json'];
  const { kill, said, output, ended } = startProcess(t, process.execPath, args, { cwd: folder });
  const [, pid] = await said(/launched (\d+)/);
  kill('SIGTERM');
  await said(/Stopped before anything was measured/);
  kill('SIGTERM');
  assert.equal(await ended, 130, output());
  await eventually('the end of the launch command', () => {
    try {
      return !process.kill(Number(pid), 0);
    } catch {
      return true;
    }
  });
});
