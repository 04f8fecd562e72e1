/** The ssh recipe of docs/guide/several-hosts.md, verbatim, with a real sshd on each host. */
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { TOKEN } from '../helpers/app.ts';
import { columns } from '../helpers/columns.ts';
import { NamespaceNetwork, startWorker } from '../helpers/namespaces.ts';
import { codeBlocks, page, ROOT } from '../helpers/pages.ts';
import { eventually } from '../helpers/poll.ts';
import { hasReached, latestResult, quickScript, reasonsOfServer } from '../helpers/run.ts';
import { SshHosts, whyNoSshHosts } from '../helpers/ssh-hosts.ts';

const LIMIT_MS = 60_000;
/** Virtual users of the first and of the second host: half of them in each of two ramps of 5. */
const SHARES = [6, 4] as const;
const USERS = SHARES[0] + SHARES[1];

/** Returns the commands of the guide, changed to two hosts. @param address address of the conductor */
function recipe(address: string, target: string): { conduct: string; script: string } {
  const blocks = codeBlocks(page('docs/guide/several-hosts.md'), 'sh');
  const conduct = blocks.find((block) => block.includes('-- bash start-hosts.sh'));
  const script = blocks.find((block) => block.startsWith('# start-hosts.sh'));
  assert.ok(conduct && script, 'the guide has both');
  assert.match(conduct, /TARGET=https:\/\/staging\.example\.com\n[\s\S]*--hosts 3 --listen 10\.0\.0\.5:3401/);
  assert.match(script, /load-1 load-2 load-3/);
  return {
    conduct: conduct
      .replace('https://staging.example.com', target)
      .replace('--hosts 3', '--hosts 2')
      .replace('10.0.0.5', address),
    script: script.replace(' load-3', ''),
  };
}

/** Starts a server and generator hosts, and types the recipe into a terminal on another host. */
async function typeRecipe(t: TestContext, names: string[]) {
  const network = new NamespaceNetwork(t);
  const serverHost = network.host('server', 0);
  await startWorker(serverHost, 'w0');
  const ssh = new SshHosts(t, network);
  const [conductor, ...hosts] = await Promise.all(
    ['conductor', ...names].map((name, index) => ssh.add(name, index * 86_400)),
  );
  assert.ok(conductor);
  const { config, ...flow } = quickScript();
  const ensure = { thresholds: [{ 'connections.failed': 1 }] };
  const scenario = { ...flow, config: { ...config, plugins: { ...config.plugins, ensure: {} }, ensure } };
  const { conduct, script } = recipe(conductor.address, `http://${serverHost.address}:8080`);
  const folderOf = (home: string) => join(home, 'load-test');
  for (const { home } of [conductor, ...hosts]) {
    const folder = folderOf(home);
    mkdirSync(join(folder, 'scenarios'), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'scenarios/32k.yml'), JSON.stringify(scenario));
  }
  const folder = folderOf(conductor.home);
  writeFileSync(join(folder, 'start-hosts.sh'), script);
  const env = { CAPACITY_CONTROL: `http://${serverHost.address}:9090`, CAPACITY_TOKEN: TOKEN };
  const terminal = ssh.type(conductor, `cd load-test && ${conduct}`, env);
  const result = () => latestResult(join(folder, 'results'));
  const isOver = () => terminal.child.exitCode !== null;
  return {
    terminal,
    result,
    ended: async () => {
      await eventually('the end', isOver, LIMIT_MS, terminal.output);
      return terminal.ended;
    },
    reached: (stage: string) => eventually(`stage ${stage}`, () => isOver() || hasReached(result(), stage), LIMIT_MS),
    /** Waits until only the original sshd runs on the hosts. */
    nothingLeft: () =>
      eventually(
        'the end of all processes',
        () => hosts.every(({ sshd }) => sshd.running().length === 1),
        LIMIT_MS,
        () => hosts.flatMap(({ sshd }) => sshd.running()).join('\n'),
      ),
  };
}

describe('the recipe for ssh', { skip: whyNoSshHosts(), timeout: 180_000, concurrency: 3 }, () => {
  it('runs the load on all hosts, and leaves nothing on them', async (t) => {
    const { terminal, result: read, ended, nothingLeft } = await typeRecipe(t, ['load-1', 'load-2']);
    const exitCode = await ended();
    const result = read();
    assert.ok(result, terminal.output());
    assert.deepEqual(reasonsOfServer(result), [], terminal.output());
    assert.ok([0, 3].includes(exitCode ?? -1), terminal.output());
    const { connections, delivery, generators } = result;
    assert.deepEqual([connections.asked, connections.held, delivery?.coverage], [USERS, USERS, 1], terminal.output());
    assert.deepEqual(columns(generators, 'host', 'held'), {
      host: ['load-1/0', 'load-2/1'],
      held: [SHARES[0], SHARES[1]],
    });
    // Artillery on the hosts does not evaluate the thresholds.
    assert.doesNotMatch(terminal.output(), /Checks:|fail: /);
    assert.match(terminal.output(), /npx socketio-capacity check results\/latest/);
    await nothingLeft();
  });

  it('ends on all hosts on Ctrl-C, and keeps the measurements', async (t) => {
    const { terminal, result, reached, ended, nothingLeft } = await typeRecipe(t, ['load-1', 'load-2']);
    await reached('plateau');
    terminal.interrupt();
    assert.equal(await ended(), 130, terminal.output());
    assert.ok(result()?.findings.some(({ code }) => code === 'RUN_INCOMPLETE'));
    assert.ok((result()?.connections.opened ?? 0) >= USERS / 2, terminal.output());
    await nothingLeft();
  });
});
